import type { Meter } from "../domain/meter.ts";
import type { Outcome } from "../domain/outcome.ts";

/** Counts leftovers of a box. They do not change the verdict, but are a platform failure and can accumulate. */
export function countLeftovers({ evidence }: Outcome, meter: Meter): void {
  if (!evidence) return;
  const { cleanupVerified, descendantContainment, residualMounts, collectionErrors } = evidence.teardown;
  if (!cleanupVerified) meter.count("leftovers", { kind: "cleanup_unverified" });
  if (descendantContainment === "leaked") meter.count("leftovers", { kind: "process" });
  if (residualMounts.length > 0) meter.count("leftovers", { kind: "residual_mount" });
  if (collectionErrors.length > 0) meter.count("leftovers", { kind: "collection_error" });
}
