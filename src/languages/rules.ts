import type { Limits, StepLimits } from "../domain/limits.ts";

/**
 * Checks the limits of one language in one profile. The meaning of each verdict depends on some relations between them.
 * @returns a sentence for each relation that does not hold.
 */
export function brokenRules(limits: StepLimits): string[] {
  const broken = brokenInStep("execute", limits.execute);
  if (!limits.compile) return broken;
  broken.push(...brokenInStep("compile", limits.compile));
  if (limits.compile.cpus > limits.execute.cpus) {
    broken.push("cpus is greater for compile than for execute, but compilers run code of the program as well");
  }
  for (const shared of ["workBytes", "workInodes"] as const) {
    if (limits.compile[shared] !== limits.execute[shared]) {
      broken.push(`${shared} differs between compile and execute, but /box is one file system for both`);
    }
  }
  return broken;
}

function brokenInStep(step: string, limits: Limits): string[] {
  const rules: readonly (readonly [boolean, string])[] = [
    [limits.cpuMs <= limits.wallMs, "cpuMs is above wallMs: a single thread could never reach the CPU limit"],
    [
      limits.fileBytes < limits.workBytes,
      "fileBytes is not below workBytes: a file that is too large would cause ENOSPC, not FSE",
    ],
    [
      limits.fileBytes < limits.tmpBytes,
      "fileBytes is not below tmpBytes: a file that is too large would cause ENOSPC, not FSE",
    ],
    [
      limits.workBytes + 2 * limits.tmpBytes < limits.memoryBytes,
      "/box, /tmp and /dev/shm together reach memoryBytes: full file systems would cause MLE",
    ],
    [limits.stackBytes < limits.memoryBytes, "stackBytes is not below memoryBytes: infinite recursion would cause MLE"],
    [
      limits.addressSpaceBytes === null || limits.addressSpaceBytes > limits.memoryBytes,
      "addressSpaceBytes is not above memoryBytes: excessive memory use would never cause MLE",
    ],
  ];
  return rules.filter(([holds]) => !holds).map(([, sentence]) => `${step}: ${sentence}`);
}
