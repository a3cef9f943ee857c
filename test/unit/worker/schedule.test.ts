import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type HeldSubmission,
  nextAction,
  type ScheduleAction,
  type ScheduleState,
} from "../../../src/worker/schedule.ts";

interface Held extends HeldSubmission {
  readonly id: string;
}

/** A held submission, such as "a2": the second one of account "a". */
const held = (id: string, changes: Partial<HeldSubmission> = {}): Held => ({
  id,
  accountId: id.charAt(0),
  claimedMs: 1_000,
  isAbandoned: false,
  ...changes,
});
const counts = (amounts: Record<string, number>) => new Map(Object.entries(amounts));
const NONE = counts({});

/** A worker with two free slots, which has run nothing, and may claim. */
const FREE: ScheduleState<Held> = {
  nowMs: 1_000,
  workers: 2,
  slots: { headroom: 2, free: 2, alive: 2 },
  held: [],
  running: NONE,
  comparing: NONE,
  ending: NONE,
  services: NONE,
  recentMs: [],
  holdMs: 100,
  ahead: null,
  hasGivenBack: false,
  mayClaim: true,
};
/** Both slots run something. */
const BUSY = { ...FREE, slots: { headroom: 0, free: 0, alive: 2 } };
const SHORT_RUNS = Array(7).fill(10);

/** An action in short: "start a1", "claim 2+0", "claim 2+0 without x", "wait", "wait until 1100". */
function short(action: ScheduleAction<Held>): string {
  if (action.kind === "start" || action.kind === "drop") return `${action.kind} ${action.held.id}`;
  if (action.kind === "wait") return action.untilMs === null ? "wait" : `wait until ${action.untilMs}`;
  if (action.kind === "giveBack") return "give back";
  const { startable, ahead, barred } = action;
  return `claim ${startable}+${ahead}${barred.length > 0 ? ` without ${barred.join(", ")}` : ""}`;
}

const ROWS: readonly [title: string, state: ScheduleState<Held>, expected: string][] = [
  // What it claims.
  ["free slots are filled", FREE, "claim 2+0"],
  ["no claim while another one is under way, or nobody waits", { ...FREE, mayClaim: false }, "wait"],
  ["no claim without a free slot", BUSY, "wait"],
  ["fewer submissions run than there are slots", { ...FREE, slots: { headroom: 1, free: 4, alive: 5 } }, "claim 1+0"],
  ["too many run, because outcomes wait for the database", { ...FREE, slots: { ...FREE.slots, headroom: -3 } }, "wait"],
  ["no slot is open", { ...FREE, recentMs: SHORT_RUNS, slots: { headroom: 2, free: 0, alive: 0 } }, "wait"],
  ["runs of 10 ms: six ahead for each slot", { ...BUSY, recentMs: SHORT_RUNS }, "claim 0+12"],
  ["runs of 1 ms: sixteen ahead for each slot", { ...BUSY, recentMs: Array(7).fill(1) }, "claim 0+32"],
  ["runs of 25 ms: two ahead for each slot", { ...BUSY, recentMs: [25] }, "claim 0+4"],
  ["three of seven runs are long", { ...BUSY, recentMs: [1e3, 1e3, 1e3, 10, 10, 10, 10] }, "claim 0+12"],
  ["four of seven runs are long", { ...BUSY, recentMs: [1e3, 1e3, 1e3, 1e3, 10, 10, 10] }, "wait"],
  [
    "more than half of those ahead are there",
    { ...BUSY, held: Array(6).fill(held("a1")), ahead: 12 },
    "wait until 1100",
  ],
  ["fewer than half of them are there", { ...BUSY, held: Array(5).fill(held("a1")), ahead: 12 }, "claim 0+7"],
  ["a free slot, so that those ahead cost no claim of their own", { ...FREE, ahead: 12 }, "claim 2+12"],
  [
    "a free slot, and those that are missing of the ones ahead, however few",
    { ...FREE, held: Array(10).fill(held("a1")), ending: counts({ a: 4 }), ahead: 12 },
    "claim 2+2 without a",
  ],
  ["none ahead after some were given back", { ...BUSY, ahead: 12, hasGivenBack: true }, "wait"],
  // What it starts.
  ["the one that was claimed first", { ...FREE, held: [held("a1"), held("a2")] }, "start a1"],
  [
    "of the account with the fewest runs",
    { ...FREE, held: [held("a1"), held("b1")], running: counts({ a: 1 }) },
    "start b1",
  ],
  [
    "of the account that was served least recently",
    { ...FREE, held: [held("a1"), held("b1"), held("c1")], services: counts({ a: 7, b: 5, c: 6 }) },
    "start b1",
  ],
  [
    "of an account that was never served, although it came last",
    { ...FREE, held: [held("a1"), held("b1")], services: counts({ a: 1 }) },
    "start b1",
  ],
  ["none without a free slot", { ...BUSY, held: [held("a1")] }, "wait until 1100"],
  // Which accounts are barred.
  [
    "none of an account with four outputs to compare",
    { ...FREE, held: [held("a1"), held("b1")], comparing: counts({ a: 4, b: 3 }) },
    "start b1",
  ],
  [
    "none of an account with four boxes to remove",
    { ...FREE, held: [held("a1"), held("b1")], ending: counts({ a: 4, b: 3 }) },
    "start b1",
  ],
  [
    "its submissions are not claimed either",
    { ...FREE, comparing: counts({ a: 4 }), ending: counts({ b: 9 }) },
    "claim 2+0 without a, b",
  ],
  [
    "they wait, and others are claimed",
    { ...FREE, held: [held("a1")], ending: counts({ a: 4 }) },
    "claim 2+0 without a",
  ],
  // What it drops and gives back.
  [
    "an abandoned one is dropped, even without a free slot",
    { ...BUSY, held: [held("a1"), held("b1", { isAbandoned: true })] },
    "drop b1",
  ],
  [
    "all are given back when the first one has waited too long",
    { ...BUSY, nowMs: 1_100, held: [held("a1")] },
    "give back",
  ],
  [
    "those of barred accounts as well",
    { ...FREE, nowMs: 1_100, held: [held("a1")], ending: counts({ a: 4 }) },
    "give back",
  ],
  ["unless it can start", { ...FREE, nowMs: 1_100, held: [held("a1")] }, "start a1"],
];

for (const [title, state, expected] of ROWS) test(title, () => assert.equal(short(nextAction(state)), expected));

test("submissions of several accounts start in turns", () => {
  let waiting = [held("a1"), held("a2"), held("a3"), held("b1"), held("c1"), held("b2")];
  const running = new Map<string, number>();
  const services = new Map<string, number>();
  const started: string[] = [];
  for (let service = 1; waiting.length > 0; service++) {
    const action = nextAction({ ...FREE, held: waiting, running, services });
    assert.ok(action.kind === "start");
    const { id, accountId } = action.held;
    started.push(id);
    waiting = waiting.filter((one) => one !== action.held);
    running.set(accountId, (running.get(accountId) ?? 0) + 1);
    services.set(accountId, service);
  }
  assert.deepEqual(started, ["a1", "b1", "c1", "a2", "b2", "a3"]);
});
