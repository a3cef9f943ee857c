import assert from "node:assert/strict";
import { test } from "node:test";
import { HeartbeatMonitor } from "../../../src/domain/heartbeat-monitor.ts";

const LEASE_MS = 100;

/** Advances the clock by `afterMs` and returns the names that are silent. */
function looker(atFirstMs?: (name: string) => number) {
  let nowMs = 0;
  const silence = new HeartbeatMonitor(() => nowMs);
  return (afterMs: number, signs: Record<string, string>) => {
    nowMs += afterMs;
    return [...silence.observe(new Map(Object.entries(signs)), LEASE_MS, atFirstMs)];
  };
}

test("a name without a new heartbeat for a lease is silent", () => {
  const look = looker();
  assert.deepEqual(look(0, { a: "1", b: "1" }), []);
  assert.deepEqual(look(LEASE_MS - 1, { a: "1", b: "2" }), []);
  assert.deepEqual(look(1, { a: "1", b: "2" }), ["a"]);
  assert.deepEqual(look(LEASE_MS - 2, { a: "2", b: "2" }), []);
  assert.deepEqual(look(1, { a: "2", b: "2" }), ["b"]);
});

test("a heartbeat with a lower value counts", () => {
  const look = looker();
  look(0, { a: "2" });
  look(LEASE_MS - 1, { a: "1" });
  assert.deepEqual(look(LEASE_MS - 1, { a: "1" }), []);
});

test("a name that was absent starts again", () => {
  const look = looker();
  look(0, { a: "1" });
  look(50, {});
  assert.deepEqual(look(50, { a: "1" }), []);
});

test("after a pause between looks, all names start again", () => {
  const look = looker();
  look(0, { a: "1" });
  assert.deepEqual(look(LEASE_MS + 1, { a: "1" }), []);
  assert.deepEqual(look(LEASE_MS, { a: "1" }), ["a"]);
});

test("a new name starts with the silence that the caller gives", () => {
  const look = looker((name) => (name === "old" ? Number.POSITIVE_INFINITY : 60));
  assert.deepEqual(look(0, { old: "1", a: "1" }), ["old"]);
  assert.deepEqual(look(39, { old: "1", a: "1" }), ["old"]);
  assert.deepEqual(look(1, { old: "2", a: "1" }), ["a"]);
});
