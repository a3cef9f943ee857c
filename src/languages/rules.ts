import type { Limits, StepLimits } from "../domain/limits.ts";

/**
 * What the limits of one language in one profile must be to one another, so that each verdict keeps its
 * meaning. Returns a sentence for every rule that is broken.
 */
export function brokenRules(limits: StepLimits): string[] {
  const broken = brokenInStep("execute", limits.execute);
  if (!limits.compile) return broken;
  broken.push(...brokenInStep("compile", limits.compile));
  for (const shared of ["workBytes", "workInodes"] as const) {
    if (limits.compile[shared] !== limits.execute[shared]) {
      broken.push(`${shared} differs between compile and execute, but /box is one file system for both`);
    }
  }
  return broken;
}

function brokenInStep(step: string, limits: Limits): string[] {
  const rules: readonly (readonly [boolean, string])[] = [
    [limits.cpuMs <= limits.wallMs, "cpuMs is above wallMs: the CPU limit could never be met by one thread"],
    [limits.fileBytes < limits.workBytes, "fileBytes is not below workBytes: a file too big would be ENOSPC, not FSE"],
    [limits.fileBytes < limits.tmpBytes, "fileBytes is not below tmpBytes: a file too big would be ENOSPC, not FSE"],
    [
      limits.workBytes + 2 * limits.tmpBytes < limits.memoryBytes,
      "/box, /tmp and /dev/shm together reach memoryBytes: a full disk would be MLE",
    ],
    [limits.stackBytes < limits.memoryBytes, "stackBytes is not below memoryBytes: endless recursion would be MLE"],
    [
      limits.addressSpaceBytes === null || limits.addressSpaceBytes > limits.memoryBytes,
      "addressSpaceBytes is not above memoryBytes: eating memory would never be MLE",
    ],
  ];
  return rules.filter(([holds]) => !holds).map(([, sentence]) => `${step}: ${sentence}`);
}
