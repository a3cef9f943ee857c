import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { PROTOCOL_VERSION } from "../../../src/sandbox/protocol.ts";
import { Slot } from "../../../src/sandbox/slot.ts";
import { fakeLauncher, type Peer } from "../../support/sandbox/fake-launcher.ts";
import { ended, frame, hello, keyed, refused, torn } from "../../support/sandbox/frames.ts";
import { LIMITS, shell } from "../../support/sandbox/steps.ts";

/** Without this timeout, a wait for a missing response would last half a minute. */
const LIMIT = { timeout: 10_000 };

const lost = (message: string | RegExp) => ({ name: "SandboxError", message });
const failed = keyed("FAILED", { STEP_NAME: "mount", STEP_OBJECT: "/box", STEP_ERRNO: 12 });
const refusal = keyed("REFUSED", { REASON: "too large", OBJECT: "WALL_MS" });

/** An open slot and its other end. */
async function opened(t: TestContext, ...more: Buffer[]): Promise<{ slot: Slot; peer: Peer; losses: () => number }> {
  const launcher = await fakeLauncher(t);
  const opening = Slot.open(launcher.socket);
  const peer = await launcher.peer();
  peer.say(hello({ SLOT: 3 }), ...more);
  const slot = await opening;
  t.after(() => slot.close());
  let losses = 0;
  slot.onLost(() => losses++);
  return { slot, peer, losses: () => losses };
}

/** A slot during a step. */
async function running(t: TestContext) {
  const all = await opened(t);
  const report = all.slot.run(shell("true"));
  report.catch(() => {}); // each test handles it later
  await all.peer.heard();
  return { ...all, report };
}

test("a slot is open after its hello", LIMIT, async (t) => {
  const { slot } = await opened(t);
  assert.equal(slot.hello.slot, 3);
  assert.equal(slot.alive, true);
});

for (const [name, bytes, error] of [
  ["speaks another protocol", hello({ PROTOCOL: 1 }), refused(`the launcher uses protocol 1, not ${PROTOCOL_VERSION}`)],
  ["has an unknown backend", hello({ BACKEND: "jail" }), refused('BACKEND is "jail"')],
  ["could not build a box", failed, lost("no box: mount /box (errno 12)")],
  ["refuses", refusal, lost("the launcher refused the request: WALL_MS too large")],
  ["sends another frame first", torn(), refused("unexpected TEARDOWN")],
  ["does not speak frames", Buffer.from("SSH-2.0-OpenSSH_9.9\r\n"), refused("unknown frame 50")],
] as const) {
  test(`rejects a launcher that ${name} and closes the connection`, LIMIT, async (t) => {
    const launcher = await fakeLauncher(t);
    const opening = Slot.open(launcher.socket);
    const peer = await launcher.peer();
    peer.say(bytes);
    await assert.rejects(opening, error);
    await peer.closed;
  });
}

test("rejects a missing launcher, and a launcher that closes the connection", LIMIT, async (t) => {
  const launcher = await fakeLauncher(t);
  await assert.rejects(Slot.open(`${launcher.socket}-not`), lost(/^the launcher cannot be reached: .*ENOENT/));
  const opening = Slot.open(launcher.socket);
  (await launcher.peer()).hangUp();
  await assert.rejects(opening, lost("the slot closed its connection"));
});

test("rejects a launcher that is silent for 30 s", LIMIT, async (t) => {
  const launcher = await fakeLauncher(t);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const opening = Slot.open(launcher.socket);
  const peer = await launcher.peer();
  t.mock.timers.tick(29_999);
  peer.say(hello().subarray(0, 20));
  t.mock.timers.tick(1);
  await assert.rejects(opening, lost("the launcher did not respond"));
  await peer.closed;
});

test("a run consists of output in order, by stream, and the report", LIMIT, async (t) => {
  const { slot, peer, report } = await running(t);
  peer.say(frame("STDOUT", Buffer.from("a")), frame("STDERR", Buffer.from("x")), frame("STDOUT", Buffer.from("b")));
  peer.say(ended({ EXIT_CODE: 4 }), torn());
  const { exitCode, stdout, stderr, teardown } = await report;
  assert.deepEqual([exitCode, String(stdout), String(stderr), teardown.reaped], [4, "ab", "x", true]);
  const again = slot.run(shell("true"));
  await peer.heard();
  peer.say(ended({ EXIT_CODE: 5 }), torn());
  assert.deepEqual([(await again).exitCode, String((await again).stdout)], [5, ""]);
});

for (const [name, happens, error] of [
  ["closes the connection", (peer: Peer) => peer.hangUp(), lost("the slot closed its connection")],
  ["fails", (peer: Peer) => peer.say(failed), lost("no box: mount /box (errno 12)")],
  ["refuses", (peer: Peer) => peer.say(refusal), lost("the launcher refused the request: WALL_MS too large")],
  ["sends a second hello", (peer: Peer) => peer.say(hello()), refused("unexpected HELLO")],
  ["omits the end", (peer: Peer) => peer.say(torn()), refused("TEARDOWN before ENDED")],
  [
    "sends an invalid report",
    (peer: Peer) => peer.say(ended({ KILL_REASON: "?" }), torn()),
    refused('KILL_REASON is "?"'),
  ],
  ["sends only the end", (peer: Peer) => peer.sayLast(ended()), lost("the slot closed its connection")],
] as const) {
  test(`a slot that ${name} during a run is lost, reported once, and not reused`, LIMIT, async (t) => {
    const { slot, peer, report, losses } = await running(t);
    happens(peer);
    await assert.rejects(report, error);
    await peer.closed;
    assert.equal(slot.alive, false);
    await assert.rejects(slot.run(shell("true")), error);
    slot.close();
    assert.equal(losses(), 1);
  });
}

test("a slot that is silent for 45 s beyond the wall limit is lost", LIMIT, async (t) => {
  const { slot, peer, losses } = await opened(t);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const report = slot.run(shell("true"));
  await peer.heard();
  t.mock.timers.tick(LIMITS.wallMs + 44_999);
  assert.equal(slot.alive, true);
  t.mock.timers.tick(1);
  await assert.rejects(report, lost("the slot did not respond in time"));
  await peer.closed;
  assert.equal(losses(), 1);
});

test("a slot that reports a slow end, by ENDING, has as much time again", LIMIT, async (t) => {
  const { slot, peer } = await opened(t);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let heard = () => {};
  const report = slot.run(shell("true"), () => heard());
  await peer.heard();
  for (let reports = 0; reports < 3; reports++) {
    t.mock.timers.tick(LIMITS.wallMs + 44_999);
    const output = new Promise<void>((resolve) => {
      heard = resolve;
    });
    peer.say(frame("ENDING"), frame("STDOUT", Buffer.from("output")));
    await output;
  }
  t.mock.timers.tick(LIMITS.wallMs + 44_999);
  assert.equal(slot.alive, true);
  t.mock.timers.tick(1);
  await assert.rejects(report, lost("the slot did not respond in time"));
});

test("an open slot can be idle for any time", LIMIT, async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { slot } = await opened(t);
  t.mock.timers.tick(1_000_000);
  assert.equal(slot.alive, true);
});

test("the deadline ends with the run", LIMIT, async (t) => {
  const { slot, peer } = await opened(t);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const report = slot.run(shell("true"));
  await peer.heard();
  peer.say(ended(), torn());
  await report;
  t.mock.timers.tick(1_000_000);
  assert.equal(slot.alive, true);
});

test("refuses a second step while one runs, which continues", LIMIT, async (t) => {
  const { slot, peer, report } = await running(t);
  await assert.rejects(slot.run(shell("false")), lost("the slot is running another step"));
  peer.say(ended({ EXIT_CODE: 6 }), torn());
  assert.equal((await report).exitCode, 6);
});

test("a step that cannot be encoded does not affect the slot", LIMIT, async (t) => {
  const { slot, peer } = await opened(t);
  await assert.rejects(slot.run(shell("true", { limits: { ...LIMITS, wallMs: 0.5 } })), RangeError);
  await assert.rejects(slot.run(shell("true", { limits: { ...LIMITS, cpuMs: -1 } })), RangeError);
  const report = slot.run(shell("true"));
  await peer.heard();
  peer.say(ended(), torn());
  assert.equal((await report).exitCode, 0);
});

for (const [name, bytes, error] of [
  ["output", frame("STDOUT", Buffer.from("late")), refused("STDOUT while nothing runs")],
  ["a report", torn(), refused("TEARDOWN while nothing runs")],
  ["a failure", failed, lost("no box: mount /box (errno 12)")],
] as const) {
  test(`a slot that sends ${name} without a run is lost`, LIMIT, async (t) => {
    const { slot, peer, losses } = await opened(t);
    peer.say(bytes);
    await peer.closed;
    assert.equal(slot.alive, false);
    assert.equal(losses(), 1);
    await assert.rejects(slot.run(shell("true")), error);
  });
}

test("reports a slot that was lost before the listener was added", LIMIT, async (t) => {
  const { slot, losses } = await opened(t, failed);
  assert.equal(slot.alive, false);
  await Promise.resolve();
  assert.equal(losses(), 1);
});

test("closing ends the run, closes the connection, and is reported once", LIMIT, async (t) => {
  const { slot, peer, report, losses } = await running(t);
  slot.close();
  assert.equal(slot.alive, false, "the slot must not be available for another run");
  await assert.rejects(report, lost("the slot closed its connection"));
  await peer.closed;
  slot.close();
  assert.equal(losses(), 1);
});
