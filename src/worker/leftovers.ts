import type { Meter } from "../domain/meter.ts";
import type { Outcome } from "../domain/outcome.ts";

/**
 * Leftovers that the kernel releases later by itself, although no process of the box is left. A program can cause them, for example if
 * it sends sockets over sockets that are themselves being sent.
 */
const RELEASED_LATER: readonly string[] = [
  "cgroup not removed: memory",
  "cgroup not removed: sockets in the network namespace",
];

/**
 * Counts what a run left of its box. Processes, mounts and cgroups that are left do not change the verdict, but they are a failure of
 * the platform and can accumulate.
 */
export function countLeftovers({ evidence }: Outcome, meter: Meter): void {
  if (!evidence) return;
  const { cleanupVerified, reapStatus, descendantContainment, residualMounts, collectionErrors } = evidence.teardown;
  const isContained = reapStatus === "clean" && descendantContainment === "ok" && residualMounts.length === 0;
  if (isContained && collectionErrors.length > 0 && collectionErrors.every((error) => RELEASED_LATER.includes(error))) {
    meter.count("leftovers", { kind: "released_later" });
    return;
  }
  if (!cleanupVerified) meter.count("leftovers", { kind: "cleanup_unverified" });
  if (descendantContainment === "leaked") meter.count("leftovers", { kind: "process" });
  if (residualMounts.length > 0) meter.count("leftovers", { kind: "residual_mount" });
  if (collectionErrors.length > 0) meter.count("leftovers", { kind: "collection_error" });
}
