import type { Meter } from "../domain/meter.ts";
import type { Outcome } from "../domain/outcome.ts";

/** What stayed of a box does not change the verdict, but somebody has to be told: it is the platform's, and may add up. */
export function countLeftovers({ evidence }: Outcome, meter: Meter): void {
  if (!evidence) return;
  const { cleanupVerified, descendantContainment, residualMounts, collectionErrors } = evidence.teardown;
  if (!cleanupVerified) meter.count("leftovers", { kind: "cleanup_unverified" });
  if (descendantContainment === "leaked") meter.count("leftovers", { kind: "process" });
  if (residualMounts.length > 0) meter.count("leftovers", { kind: "residual_mount" });
  if (collectionErrors.length > 0) meter.count("leftovers", { kind: "collection_error" });
}
