import assert from "node:assert/strict";
import { test } from "node:test";
import { Silence } from "../../src/domain/silence.ts";

const LEASE_MS = 100;

/** A look each time it is called, `afterMs` later than the last one, at what is there then. */
function looker(atFirstMs?: (name: string) => number) {
  let nowMs = 0;
  const silence = new Silence(() => nowMs);
  return (afterMs: number, signs: Record<string, string>) => {
    nowMs += afterMs;
    return [...silence.look(new Map(Object.entries(signs)), LEASE_MS, atFirstMs)];
  };
}

test("who says nothing new for a lease is silent, and who does is not", () => {
  const look = looker();
  assert.deepEqual(look(0, { a: "1", b: "1" }), []);
  assert.deepEqual(look(LEASE_MS - 1, { a: "1", b: "2" }), []);
  assert.deepEqual(look(1, { a: "1", b: "2" }), ["a"]);
  assert.deepEqual(look(LEASE_MS - 2, { a: "2", b: "2" }), []);
  assert.deepEqual(look(1, { a: "2", b: "2" }), ["b"]);
});

test("a sign that goes back is a sign like any other", () => {
  const look = looker();
  look(0, { a: "2" });
  look(LEASE_MS - 1, { a: "1" });
  assert.deepEqual(look(LEASE_MS - 1, { a: "1" }), []);
});

test("who was away begins anew", () => {
  const look = looker();
  look(0, { a: "1" });
  look(50, {});
  assert.deepEqual(look(50, { a: "1" }), []);
});

test("after a time without a look everybody begins anew", () => {
  const look = looker();
  look(0, { a: "1" });
  assert.deepEqual(look(LEASE_MS + 1, { a: "1" }), []);
  assert.deepEqual(look(LEASE_MS, { a: "1" }), ["a"]);
});

test("somebody seen for the first time has been silent for as long as the caller says", () => {
  const look = looker((name) => (name === "old" ? Number.POSITIVE_INFINITY : 60));
  assert.deepEqual(look(0, { old: "1", a: "1" }), ["old"]);
  assert.deepEqual(look(39, { old: "1", a: "1" }), ["old"]);
  assert.deepEqual(look(1, { old: "2", a: "1" }), ["a"]);
});
