import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Slot } from "../../../src/sandbox/slot.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { eventually, runningProgramsOf } from "../../support/launcher/machine.ts";
import { shell } from "../../support/sandbox/steps.ts";

const LIMIT = { timeout: 60_000 };

let launcher: Launcher;
before(async () => {
  launcher = await startLauncher({ slots: 2 });
});
after(async () => assert.equal(await launcher.stop(), 0, launcher.stderr()));

/** A program that reads none of its live input. */
async function deaf(): Promise<{ slot: Slot; running: Promise<unknown> }> {
  const slot = await Slot.open(launcher.socket);
  const step = shell("sleep 600", { live: true });
  const running = slot.run({ ...step, limits: { ...step.limits, wallMs: 120_000 } });
  running.catch(() => {});
  await eventually("the program", () => runningProgramsOf(launcher).length > 0);
  return { slot, running };
}

test("a cancelled slot is gone when its box is, also with input that nobody has read", LIMIT, async () => {
  for (const bytes of [0, 262_144]) {
    const { slot, running } = await deaf();
    if (bytes > 0) await slot.input(Buffer.alloc(bytes));
    slot.cancel();
    await assert.rejects(running, /cancelled/);
    await slot.gone;
    assert.equal(runningProgramsOf(launcher).length, 0);
  }
});

test("input that has not been sent yet does not delay the end of a cancelled program", LIMIT, async () => {
  const { slot, running } = await deaf();
  let isGone = false;
  const written = slot.input(Buffer.alloc(1_000_000));
  slot.cancel();
  void slot.gone.then(() => {
    isGone = true;
  });
  await assert.rejects(running, /cancelled/);
  await written;
  await eventually("the end of the program", () => runningProgramsOf(launcher).length === 0);
  assert.equal(isGone, false, "nothing told when the box was removed, so the slot must count for longer");
  await slot.gone;
});
