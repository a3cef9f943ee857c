import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { StepReport } from "../../../src/domain/report.ts";
import { FRAMES } from "../../../src/sandbox/protocol.ts";
import type { Slot } from "../../../src/sandbox/slot.ts";
import type { Step } from "../../../src/sandbox/step.ts";
import { MAX_LIVE_INPUT } from "../../../src/store/live/input.ts";
import { startLauncher } from "../../support/launcher/launcher.ts";
import { PATIENCE } from "../../support/programs/timeouts.ts";
import { useSlot } from "../../support/sandbox/one-slot.ts";
import { LIMITS, shell } from "../../support/sandbox/steps.ts";
import { connected, frame, step, stepFrame } from "../launcher/raw.ts";

let slot: Slot;
useSlot((opened) => {
  slot = opened;
});

const [SIGINT, SIGKILL, SIGTERM] = [2, 9, 15];
const END = Buffer.alloc(0);

/** A running program with live input. */
class Talk {
  readonly report: Promise<StepReport>;
  #output = "";
  #changed = () => {};

  constructor(script: string, changes: Partial<Step> = {}) {
    this.report = slot.run(shell(script, { live: true, ...changes }), (stream, bytes) => {
      if (stream === "stdout") this.#output += bytes.toString();
      this.#changed();
    });
  }

  say(text: string): Promise<void> {
    return slot.input(Buffer.from(text));
  }

  async hear(text: string): Promise<void> {
    while (!this.#output.includes(text)) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }
}

/** Nothing of a run is left for the next one. */
async function slotStillWorks(): Promise<void> {
  const { exitCode, stdout } = await slot.run(shell("cat", { stdin: Buffer.from("next") }));
  assert.deepEqual([exitCode, stdout.toString()], [0, "next"]);
}

test("a program answers each line before the next one is sent", async () => {
  const talk = new Talk("while read x; do echo got $x; done; echo end");
  for (const word of ["a", "b", "c"]) {
    await talk.say(`${word}\n`);
    await talk.hear(`got ${word}\n`);
  }
  await slot.input(END);
  const { exitCode, stdout, sentSignal } = await talk.report;
  assert.deepEqual([exitCode, stdout.toString(), sentSignal], [0, "got a\ngot b\ngot c\nend\n", null]);
  await slotStillWorks();
});

test("a program of a compile step gets live input as well", async () => {
  await slot.run(shell("echo 'read x; echo $x' > program", { more: true }));
  const talk = new Talk("sh program", { work: "keep" });
  await talk.say("hello\n");
  const { stdout } = await talk.report;
  assert.equal(stdout.toString(), "hello\n");
  await slotStillWorks();
});

test("input larger than a frame and a pipe arrives unchanged", async () => {
  const talk = new Talk("cksum");
  const data = Buffer.from(Array.from({ length: 1_000_000 }, (_, i) => (i * 7919) % 251));
  await slot.input(data);
  await slot.input(END);
  const { stdout } = await talk.report;
  const whole = await slot.run(shell("cksum", { stdin: data }));
  assert.equal(stdout.toString(), whole.stdout.toString());
});

test("input that a program does not read waits, and is for no later program", async () => {
  const talk = new Talk("echo ready; sleep 1");
  await talk.hear("ready");
  let taken = false;
  const passed = slot.input(Buffer.alloc(8_000_000, "x")).then(() => {
    taken = true;
  });
  await sleep(100);
  assert.equal(taken, false);
  const { exitCode } = await talk.report;
  assert.equal(exitCode, 0);
  await Promise.all([slotStillWorks(), passed]);
});

test("input for a program that has closed its input is discarded", async () => {
  const talk = new Talk("exec <&-; echo closed; sleep 0.2; echo end");
  await talk.hear("closed");
  await slot.input(Buffer.alloc(2_000_000, "x"));
  const { exitCode, stdout } = await talk.report;
  assert.deepEqual([exitCode, stdout.toString()], [0, "closed\nend\n"]);
  await slotStillWorks();
});

test("a program that waits for input exceeds its wall time", async () => {
  const { killReason, signal } = await new Talk("read x", { limits: { ...LIMITS, wallMs: 300 * PATIENCE } }).report;
  assert.deepEqual([killReason, signal], ["wall", SIGKILL]);
  await slotStillWorks();
});

test("signals reach the main program, which can handle them", async () => {
  const handled = new Talk("trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.01; done");
  await handled.hear("ready");
  await slot.signal(SIGTERM);
  const { exitCode, stdout } = await handled.report;
  assert.deepEqual([exitCode, stdout.toString()], [5, "ready\ncaught\n"]);
  for (const number of [SIGINT, SIGKILL]) {
    const talk = new Talk("echo ready; read x");
    await talk.hear("ready");
    await slot.signal(number);
    const { signal, sentSignal, killReason, survivors } = await talk.report;
    assert.deepEqual([signal, sentSignal, killReason, survivors], [number, number, "none", 0]);
  }
  await slotStillWorks();
});

test("a signal passes all input that a client can give, also if the program reads none of it", async () => {
  const talk = new Talk("echo ready; sleep 60");
  await talk.hear("ready");
  // Each piece takes more than half a page, so that no two share one.
  const size = 2_100;
  for (let n = 0; n < Math.floor(MAX_LIVE_INPUT.bytes / size); n++) await slot.input(Buffer.alloc(size, "x"));
  await slot.signal(SIGKILL);
  const { signal, killReason } = await talk.report;
  assert.deepEqual([signal, killReason], [SIGKILL, "none"]);
  await slotStillWorks();
});

test("a signal that comes with its step reaches the program, and never the process before its exec", async (t) => {
  const launcher = await startLauncher();
  t.after(() => launcher.stop());
  const raw = await connected(launcher.socket);
  const talk = stepFrame(step(["/bin/sh", "-c", "read x"], { LIVE_STDIN: 1 }));
  for (let n = 0; n < 100; n++) {
    raw.send(Buffer.concat([talk, frame(FRAMES.SIGNAL, Buffer.of(SIGTERM))]));
    const { entries } = await raw.until("ENDED");
    assert.deepEqual([entries.text("FAIL_STEP"), entries.int("SIGNAL")], ["", SIGTERM], `step ${n}`);
    await raw.until("TEARDOWN");
  }
  raw.close();
});

test("after the end of a program, input and signals have no effect", async () => {
  const talk = new Talk("exit 3");
  assert.equal((await talk.report).exitCode, 3);
  await slot.input(Buffer.from("late"));
  await slot.signal(SIGKILL);
  await slotStillWorks();
});

test("frames that do not belong into a run end it, and the slot with it", async (t) => {
  const launcher = await startLauncher();
  t.after(() => launcher.stop());
  const live = (script: string) => stepFrame(step(["/bin/sh", "-c", script], { LIVE_STDIN: 1 }));
  const invalid: Readonly<Record<string, Buffer>> = {
    "another step": live("true"),
    "an INPUT that is too long": frame(FRAMES.INPUT, Buffer.alloc(0), 65_537),
    "a signal for a limit": frame(FRAMES.SIGNAL, Buffer.of(25)),
    "a signal that does not exist": frame(FRAMES.SIGNAL, Buffer.of(200)),
    "two signals": frame(FRAMES.SIGNAL, Buffer.of(2, 2)),
    "an unknown frame": frame(99, Buffer.alloc(0)),
  };
  for (const [name, bytes] of Object.entries(invalid)) {
    const raw = await connected(launcher.socket);
    raw.send(live("sleep 5"));
    await sleep(50);
    raw.send(bytes);
    await assert.rejects(raw.until("ENDED"), name);
    raw.close();
  }
});

test("between steps, frames of a run are skipped, also byte by byte", async (t) => {
  const launcher = await startLauncher();
  t.after(() => launcher.stop());
  const raw = await connected(launcher.socket);
  const late = Buffer.concat([frame(FRAMES.INPUT, Buffer.from("abc")), frame(FRAMES.SIGNAL, Buffer.of(25))]);
  for (const byte of late) raw.send(Buffer.of(byte));
  raw.send(stepFrame(step(["/bin/echo", "ok"])));
  assert.equal((await raw.until("ENDED")).stdout.toString(), "ok\n");
  raw.close();
});
