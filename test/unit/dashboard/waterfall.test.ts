import assert from "node:assert/strict";
import { test } from "node:test";
import { layOutWaterfall } from "../../../dashboard/src/run/waterfall.ts";
import type { Span } from "../../../src/http/dashboard/api/submissions.ts";

const spans = (queued: number): readonly Span[] => [
  { step: "queue", phase: "wait", startMs: 0, ms: queued },
  { step: "execute", phase: "set-up", startMs: queued, ms: 30 },
  { step: "execute", phase: "run", startMs: queued + 30, ms: 60 },
  { step: "execute", phase: "teardown", startMs: queued + 90, ms: 10 },
];

test("spans lie on an axis in their proportion, whose zero is the start", () => {
  const { bars, ticks } = layOutWaterfall(spans(25));
  const rounded = bars.map(({ from, width, isCut }) => [Math.round(from), Math.round(width), isCut]);
  assert.deepEqual(rounded, [
    [0, 20, false],
    [20, 24, false],
    [44, 48, false],
    [92, 8, false],
  ]);
  assert.deepEqual(
    ticks.map(({ ms, at }) => [ms, Math.round(at)]),
    [
      [0, 20],
      [50, 60],
      [100, 100],
    ],
  );
});

test("a long wait takes only a part of the axis, and is marked as cut", () => {
  const { bars } = layOutWaterfall(spans(60_000));
  const [queue, , run] = bars;
  assert.ok(queue?.isCut && queue.from === 0 && Math.round(queue.width) === 30);
  assert.equal(Math.round(run?.width ?? 0), 42);
});

test("a waiting run has only its queue, and an instant one stays finite", () => {
  for (const ms of [0, 0.1, 1_500]) {
    const { bars, ticks } = layOutWaterfall([{ step: "queue", phase: "wait", startMs: 0, ms }]);
    assert.ok(bars.every(({ from, width }) => from >= 0 && from + width <= 100.001));
    assert.ok(ticks.length >= 1 && ticks.length < 10 && ticks.every(({ at }) => at >= 0 && at <= 100.001), `${ms}`);
  }
});
