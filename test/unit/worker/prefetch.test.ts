import assert from "node:assert/strict";
import { test } from "node:test";
import { CommitDelay } from "../../../src/worker/delay-to-share-commit.ts";
import { Ahead } from "../../../src/worker/prefetch.ts";

test("more submissions are claimed ahead the shorter the runs are", () => {
  const ahead = new Ahead(2);
  assert.equal(ahead.amount, 0, "before the first run");
  ahead.ran(25);
  assert.equal(ahead.amount, 4);
  for (let runs = 0; runs < 4; runs++) ahead.ran(1);
  assert.equal(ahead.amount, 32);
  for (let runs = 0; runs < 3; runs++) ahead.ran(1_000);
  assert.equal(ahead.amount, 32, "most of the last seven were short");
  ahead.ran(1_000);
  assert.equal(ahead.amount, 0);
  for (let runs = 0; runs < 7; runs++) ahead.ran(10);
  assert.equal(ahead.amount, 12);
  ahead.pause();
  assert.equal(ahead.amount, 0);
  ahead.ran(10);
  assert.equal(ahead.amount, 12, "after the next end of a run");
});

test("24 callers continue together, and fewer after 60 ms or when released", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const gather = new CommitDelay();
  let gone = 0;
  const join = () => void gather.join().then(() => gone++);
  for (let callers = 0; callers < 23; callers++) join();
  await Promise.resolve();
  assert.equal(gone, 0);
  join();
  await Promise.resolve();
  assert.equal(gone, 24);
  join();
  t.mock.timers.tick(59);
  await Promise.resolve();
  assert.equal(gone, 24);
  t.mock.timers.tick(1);
  await Promise.resolve();
  assert.equal(gone, 25);
  join();
  gather.release();
  await Promise.resolve();
  assert.equal(gone, 26);
});
