import type { Limits } from "../../../src/domain/limits.ts";
import { profileLimits } from "../../../src/languages/load.ts";
import type { Step } from "../../../src/sandbox/step.ts";
import { LANGUAGES } from "../languages/directory.ts";
import { PATIENCE } from "../programs/timeouts.ts";

const MIB = 1_048_576;

/** Each of these limits has a different value, so that a mix-up shows. */
export const LIMITS: Limits = {
  ...profileLimits(LANGUAGES, "judge").execute,
  wallMs: 5_001 * PATIENCE,
  cpuMs: 2_002 * PATIENCE,
  cpus: 2,
  memoryBytes: 128 * MIB,
  processes: 12,
  fileBytes: 3 * MIB,
  openFiles: 33,
  addressSpaceBytes: 1_025 * MIB,
  stackBytes: 9 * MIB,
  workBytes: 17 * MIB,
  workInodes: 257,
  tmpBytes: 7 * MIB,
  stdoutBytes: 65_537,
  stderrBytes: 65_538,
};

/** A step of /bin/sh with this script. */
export function shell(script: string, changes: Partial<Step> = {}): Step {
  return {
    command: { command: ["/bin/sh", "-c", script], env: { PATH: "/usr/bin:/bin" } },
    files: [],
    stdin: Buffer.alloc(0),
    limits: LIMITS,
    work: "fresh",
    more: false,
    ...changes,
  };
}
