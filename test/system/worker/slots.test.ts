import assert from "node:assert/strict";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import pino from "pino";
import type { Slot } from "../../../src/sandbox/slot.ts";
import { Runtimes } from "../../../src/worker/runtimes.ts";
import { Slots } from "../../../src/worker/slots.ts";
import { noting } from "../../support/metrics/noting.ts";
import { fakeLauncher, type Peer } from "../../support/sandbox/fake-launcher.ts";
import { hello } from "../../support/sandbox/frames.ts";
import { shell } from "../../support/sandbox/steps.ts";

// The clock of timers stands still unless a test moves it. So the pauses count, and not the speed of this machine.

/** Ends a wait for a connection that does not come. */
const LIMIT = { timeout: 20_000 };
const COUNT = 10;

/** Ten slots that are open and free. `open` lets the launcher accept the next connections. */
async function opened(t: TestContext) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const launcher = await fakeLauncher(t, { allowHalfOpen: true });
  const { meter, times } = noting();
  const freed = new EventTarget();
  const peers: Peer[] = [];
  const slots = new Slots({
    socketPath: launcher.socket,
    log: pino({ level: "silent" }),
    meter,
    runtimes: new Runtimes(new Map(), 0),
    running: () => 0,
    most: COUNT,
    onFree: () => freed.dispatchEvent(new Event("free")),
  });
  t.after(() => slots.close());
  const open = async (amount: number) => {
    for (let n = 0; n < amount; n++) {
      const peer = await launcher.peer();
      peers.push(peer);
      const free = once(freed, "free");
      peer.say(hello({ SLOT: n }));
      await free;
    }
  };
  const opening = slots.open(COUNT);
  await open(COUNT);
  await opening;
  const take = () => slots.take((free) => free.shift()) ?? assert.fail("there is no free slot");
  return { slots, launcher, peers, times, open, take };
}

/** @returns a function that resolves when a timer of that length has begun. */
function pauses(t: TestContext): (ms: number) => Promise<void> {
  const begun: unknown[] = [];
  const begin = globalThis.setTimeout;
  t.mock.method(globalThis, "setTimeout", (...args: Parameters<typeof begin>) => {
    begun.push(args[1]);
    return begin(...args);
  });
  return async (ms) => {
    while (!begun.includes(ms)) await new Promise((turn) => setImmediate(turn));
  };
}

const all = (take: () => Slot) => Array.from({ length: COUNT }, take);

test("slots that were closed because their runs were cancelled are opened again at once", LIMIT, async (t) => {
  const { slots, open, take } = await opened(t);
  const taken = all(take);
  for (const slot of taken) {
    slot.close();
    slots.give(slot);
  }
  assert.equal(slots.alive, 0);
  for (const slot of taken) await slot.gone;
  t.mock.timers.tick(4);
  await open(COUNT);
  assert.equal(slots.freeCount, COUNT);
});

test("while the launcher removes their boxes, it is asked again soon, and no failure is counted", LIMIT, async (t) => {
  const { slots, launcher, times, open, take } = await opened(t);
  const waits = pauses(t);
  const slot = take();
  slot.close();
  slots.give(slot);
  await slot.gone;
  for (const pauseMs of [4, 8, 16, 32]) {
    t.mock.timers.tick(pauseMs);
    const peer = await launcher.peer();
    peer.hangUp();
    await peer.closed;
    await waits(2 * pauseMs);
  }
  t.mock.timers.tick(64);
  await open(1);
  assert.equal(slots.freeCount, COUNT);
  assert.equal(times("slotFailures"), 0);
});

test("a cancelled run counts as running until the launcher has removed its box", LIMIT, async (t) => {
  const { slots, peers, open, take } = await opened(t);
  const slot = take();
  const running = slot.run(shell("true"));
  slot.cancel();
  await assert.rejects(running, /cancelled/);
  slots.give(slot, "account");
  assert.deepEqual([...slots.endingByAccount()], [["account", 1]]);
  const [peer] = peers;
  assert.ok(peer);
  await peer.ended; // the launcher kills the program
  t.mock.timers.tick(60_000);
  // One slot is missing, and so is the submission that could run on it: its program can still use a CPU.
  assert.deepEqual([slots.busy, slots.headroom, slots.alive, slots.freeCount], [1, COUNT - 1, COUNT - 1, COUNT - 1]);
  peer.sayLast(hello({ SLOT: 0 })); // what the launcher says about the run has no effect
  await slot.gone;
  assert.deepEqual([slots.busy, slots.headroom, slots.endingByAccount().size], [0, COUNT, 0]);
  t.mock.timers.tick(4);
  await open(1);
  assert.equal(slots.freeCount, COUNT);
});
