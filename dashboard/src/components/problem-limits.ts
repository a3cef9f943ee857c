import type { ProblemVersion } from "../../../src/http/dashboard/api/problems.ts";
import { duration, size } from "./format.ts";

/** Shown for a limit that the problem does not set. */
const OF_PROFILE = "of the profile";

export function timeLimit({ cpuMs }: Pick<ProblemVersion, "cpuMs">): string {
  return cpuMs === null ? OF_PROFILE : duration(cpuMs);
}

export function memoryLimit({ memoryBytes }: Pick<ProblemVersion, "memoryBytes">): string {
  return memoryBytes === null ? OF_PROFILE : size(memoryBytes);
}
