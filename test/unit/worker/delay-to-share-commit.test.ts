import assert from "node:assert/strict";
import { test } from "node:test";
import { CommitDelay } from "../../../src/worker/delay-to-share-commit.ts";

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
