import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Evidence, RunVerdict } from "../../../src/domain/outcome.ts";
import type { StepReport } from "../../../src/domain/report.ts";
import { Slot } from "../../../src/sandbox/slot.ts";
import type { Step } from "../../../src/sandbox/step.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { childrenOf, eventually, groupsOf, read, runningProgramsOf } from "../../support/launcher/machine.ts";
import { PATIENCE } from "../../support/programs/timeouts.ts";
import { COLD, withWaitingShell } from "../../support/sandbox/parked.ts";
import { shell } from "../../support/sandbox/steps.ts";

/** The option of tests that mostly wait for deadlines: they run at the same time, each with its own launcher. */
export const AT_ONCE = { concurrency: true };

export interface Concluded {
  readonly facts: StepReport;
  readonly result: RunVerdict;
  readonly evidence: Evidence;
  /** Whether the slot continues: it ends if it could not clean up. */
  readonly alive: boolean;
}

/** The launcher's fault, and an action during the run, which should last until the action is complete. */
interface Interference {
  readonly fault?: string;
  /** A step before it, which leaves its work directory. */
  readonly first?: Step;
  readonly meanwhile?: (launcher: Launcher) => Promise<void> | void;
}

/** Runs one step in a box of its own launcher and concludes it like a submission. */
export async function concluded(
  step: Step,
  options: Interference = {},
): Promise<Concluded & { readonly launcher: Launcher }> {
  const stepped = await reported(step, options);
  const { result, evidence } = buildOutcome({ execute: stepped.facts });
  assert.ok(evidence, "there is no evidence");
  return { ...stepped, result, evidence };
}

/** Runs one step like `concluded`, and returns its report, because a step that the platform failed has no evidence. */
export async function reported(
  step: Step,
  options: Interference = {},
): Promise<Pick<Concluded, "facts" | "alive"> & { readonly launcher: Launcher }> {
  const launcher = await startLauncher({ slots: 1, ...(options.fault && { fault: options.fault }) });
  const slot = await open(launcher);
  try {
    const { meanwhile, first } = options;
    if (first) await slot.run(first);
    // With this fault, the removal of the first box, which has another size, would end the slot before the step.
    else if (!COLD && options.fault !== "init_stays") await slot.park(withWaitingShell(step));
    const run = slot.run(step);
    const [facts] = await Promise.all([run, meanwhile && interfere(launcher, run, meanwhile)]);
    const clean = buildOutcome({ execute: facts }).evidence?.teardown.cleanupVerified === true;
    await Promise.race([
      new Promise<void>((resolve) => slot.onLost(resolve)),
      sleep((clean ? 100 : 5_000) * PATIENCE, undefined, { ref: false }),
    ]);
    return { facts, alive: slot.alive, launcher };
  } finally {
    slot.close();
  }
}

async function interfere(
  launcher: Launcher,
  run: Promise<unknown>,
  how: (launcher: Launcher) => Promise<void> | void,
): Promise<void> {
  let ended: unknown;
  void run
    .catch((error) => error)
    .then((how) => {
      ended = how;
    });
  await eventually("the program", () => ended !== undefined || runningProgramsOf(launcher).length > 0);
  assert.equal(ended, undefined, "the step ended before its program was seen");
  await how(launcher);
}

/** The socket exists a moment before the launcher listens. */
async function open(launcher: Launcher): Promise<Slot> {
  for (let tries = 0; ; tries++) {
    try {
      return await Slot.open(launcher.socket);
    } catch (error) {
      if (tries === 100 || !(error as Error).message.includes("ECONNREFUSED")) throw error;
      await sleep(10);
    }
  }
}

/** Runs a script with a fault of the launcher and concludes it. The launcher must then exit with 0. */
export async function concludedWith(fault: string, script = "true"): Promise<Concluded> {
  const result = await concluded(shell(script), { fault });
  assert.equal(await result.launcher.stop(), 0, result.launcher.stderr());
  return result;
}

/** The groups of the box whose program is running, one in each tree. Waits, because a program in the middle of an exec is not found. */
export async function leavesOf(launcher: Launcher): Promise<string[]> {
  const isLeaf = (path: string) => /\/s\d+-b\d+$/.test(path);
  let leaves: string[] = [];
  await eventually("the groups of the program", () => {
    const programs = runningProgramsOf(launcher).map(({ pid }) => String(pid));
    const members = (path: string) => read(join(path, "cgroup.procs")).split("\n");
    leaves = groupsOf(launcher).filter((path) => isLeaf(path) && members(path).some((pid) => programs.includes(pid)));
    return leaves.length > 0;
  });
  return leaves;
}

/** The launcher's own group, above every box, in the hierarchy with this file. */
export function groupAbove(launcher: Launcher, has: (path: string) => boolean): string {
  const home = groupsOf(launcher).find((path) => path.endsWith(`/assay-${launcher.instance}`) && has(path));
  assert.ok(home, "the launcher has no such group");
  return home;
}

/** Ends a launcher whose slot may still be cleaning up. */
export async function stopWell(launcher: Launcher): Promise<void> {
  await eventually("the end of the slot", () => childrenOf(launcher.pid).length === 0);
  assert.equal(await launcher.stop(), 0, launcher.stderr());
}
