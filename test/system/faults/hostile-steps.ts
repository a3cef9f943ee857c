import type { Verdict } from "../../../src/domain/outcome.ts";
import type { Step } from "../../../src/sandbox/step.ts";
import { LIMITS, shell } from "../../support/sandbox/steps.ts";

const MIB = 1 << 20;

/** A step and its expected verdict. */
export interface HostileStep {
  readonly name: string;
  readonly verdict: Verdict;
  readonly step: Step;
}

/** Large time limits for steps that are not about time, because the machine may be busy. */
const limited = (limits: Partial<typeof LIMITS>) => ({
  limits: { ...LIMITS, wallMs: 60_000, cpuMs: 20_000, ...limits },
});
const one = (name: string, verdict: Verdict, script: string, limits: Partial<typeof LIMITS> = {}): HostileStep => ({
  name,
  verdict,
  step: shell(script, limited(limits)),
});

/** Steps of a few milliseconds each: every verdict, and the programs that leave most behind. */
export const HOSTILE_STEPS: readonly HostileStep[] = [
  one("ends well", "AC", "true"),
  one("reads and writes", "AC", "cat; echo err >&2"),
  one("fails", "RE", "exit 7"),
  one("kills itself", "SIG", "kill -9 $$"),
  one("leaves daemons", "AC", "sleep 600 & setsid sleep 601 & (sleep 602 &); exit 0"),
  one("leaves files", "AC", "for i in 1 2 3 4 5 6 7 8 9; do echo x > /tmp/$i; ln -s /etc/passwd /box/$i; done"),
  one("floods stdout", "AC", "head -c 3000000 /dev/zero"),
  one("writes a big file", "FSE", "exec head -c 4000000 /dev/zero > big", { fileBytes: MIB }),
  one("forks", "PLE", "for i in 1 2 3 4 5 6 7 8; do sleep 600 & done", { processes: 6 }),
  one("sleeps", "TLE", "sleep 600", { wallMs: 200 }),
  one("computes", "TLE", "while :; do :; done", { cpuMs: 30 }),
  one("eats memory", "MLE", "head -c 300000000 /dev/zero | tail", { memoryBytes: 16 * MIB }),
];
