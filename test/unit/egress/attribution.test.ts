import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { Attribution } from "../../../src/egress/attribution.ts";

const nothing = () => {};
const step = (number: number, execution: number | null, cgroupId: bigint | null = null) => ({
  step: number,
  execution,
  cgroupId,
});

test("a cgroup belongs to the execution that has it now, without a wait", () => {
  const attribution = new Attribution(nothing);
  assert.equal(attribution.executionOf(7n), null);
  attribution.step(step(1, 3));
  attribution.step(step(1, 3, 7n));
  assert.equal(attribution.executionOf(7n), 3);
  assert.equal(attribution.executionOf(8n), null);
  attribution.over(1);
  assert.equal(attribution.executionOf(7n), 3, "what arrives late is still of the execution");
  attribution.forget(3);
  assert.equal(attribution.executionOf(7n), null, "left behind");
});

test("a connection that comes before it is known who has the cgroup waits for that", async () => {
  const attribution = new Attribution(nothing);
  attribution.step(step(1, 3));
  const found = attribution.executionOf(7n);
  assert.ok(found instanceof Promise);
  attribution.step(step(1, 3, 7n));
  assert.equal(await found, 3);
});

test("a cgroup that is used again never belongs to its earlier execution", async () => {
  const attribution = new Attribution(nothing);
  attribution.step(step(1, 3));
  attribution.step(step(1, 3, 7n));
  // Another step is told, and begins in the same cgroup, before it is known that the first one has ended.
  attribution.step(step(2, 4));
  const found = attribution.executionOf(7n);
  attribution.step(step(2, 4, 7n));
  attribution.over(1);
  assert.equal(await found, 4);
  attribution.forget(3);
  assert.equal(attribution.executionOf(7n), 4, "the end of the earlier one takes nothing away");
  // Steps of the platform have cgroups as well.
  attribution.step(step(3, null));
  attribution.step(step(3, null, 7n));
  assert.equal(attribution.executionOf(7n), null);
});

test("what is said before a connection is read before it", () => {
  const waiting = [step(1, 3), step(1, 3, 7n)];
  const attribution: Attribution = new Attribution(() => {
    for (const state of waiting.splice(0)) attribution.step(state);
  });
  assert.equal(attribution.executionOf(7n), 3);
});

test("a step that does not begin in time makes what happens meanwhile belong to no execution", async () => {
  const attribution = new Attribution(nothing, 20);
  attribution.step(step(1, 3));
  attribution.step(step(1, 3, 7n));
  attribution.step(step(2, 4));
  assert.equal(await attribution.executionOf(7n), null);
  const found = attribution.executionOf(7n);
  await turn();
  attribution.over(2); // it could not begin
  assert.equal(await found, 3);
  assert.equal(attribution.executionOf(7n), 3);
});
