import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Evidence, Judgement } from "../../src/domain/outcome.ts";
import type { StepReport } from "../../src/domain/report.ts";
import { Slot } from "../../src/sandbox/slot.ts";
import type { Step } from "../../src/sandbox/step.ts";
import { conclude } from "../../src/verdict/conclude.ts";
import { PATIENCE } from "../engine/patience.ts";
import { type Launcher, startLauncher } from "../launcher/launcher.ts";
import { childrenOf, eventually, groupsOf, read, runningProgramsOf } from "../launcher/machine.ts";
import { shell } from "../sandbox/steps.ts";

export interface Concluded {
  readonly facts: StepReport;
  readonly judgement: Judgement;
  readonly evidence: Evidence;
  /** Whether the slot went on: one that could not clean up ends. */
  readonly alive: boolean;
}

/** The launcher's fault, and what is done while the program runs, which should last until that is over. */
interface Interference {
  readonly fault?: string;
  readonly meanwhile?: (launcher: Launcher) => Promise<void> | void;
}

/** One step in a box of its own launcher, concluded as every submission is. */
export async function concluded(
  step: Step,
  options: Interference = {},
): Promise<Concluded & { readonly launcher: Launcher }> {
  const stepped = await reported(step, options);
  const { judgement, evidence } = conclude({ execute: stepped.facts });
  assert.ok(evidence, "there is evidence");
  return { ...stepped, judgement, evidence };
}

/** The same without a conclusion: of a step that failed on our side there is no evidence. */
export async function reported(
  step: Step,
  options: Interference = {},
): Promise<Pick<Concluded, "facts" | "alive"> & { readonly launcher: Launcher }> {
  const launcher = await startLauncher({ slots: 1, ...(options.fault && { fault: options.fault }) });
  const slot = await open(launcher);
  try {
    const { meanwhile } = options;
    const run = slot.run(step);
    const [facts] = await Promise.all([run, meanwhile && interfere(launcher, run, meanwhile)]);
    await Promise.race([new Promise<void>((resolve) => slot.onLost(resolve)), sleep(100 * PATIENCE)]);
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

/** Its socket can be seen a moment before it listens. */
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

/** The same, and the launcher has to end well. */
export async function concludedWith(fault: string, script = "true"): Promise<Concluded> {
  const result = await concluded(shell(script), { fault });
  assert.equal(await result.launcher.stop(), 0, result.launcher.stderr());
  return result;
}

/** The groups of the box whose program is running, one in each tree. */
export function leavesOf(launcher: Launcher): string[] {
  const programs = runningProgramsOf(launcher).map(({ pid }) => String(pid));
  const isLeaf = (path: string) => /\/s\d+-b\d+$/.test(path);
  const members = (path: string) => read(join(path, "cgroup.procs")).split("\n");
  return groupsOf(launcher).filter((path) => isLeaf(path) && members(path).some((pid) => programs.includes(pid)));
}

/** The launcher's own group in the tree that has this file: above every box. */
export function groupAbove(launcher: Launcher, has: (path: string) => boolean): string {
  const home = groupsOf(launcher).find((path) => path.endsWith(`/assay-${launcher.instance}`) && has(path));
  assert.ok(home, "the launcher has a group there");
  return home;
}

/** Ends a launcher whose slot may be sweeping still. */
export async function stopWell(launcher: Launcher): Promise<void> {
  await eventually("the end of the slot", () => childrenOf(launcher.pid).length === 0);
  assert.equal(await launcher.stop(), 0, launcher.stderr());
}
