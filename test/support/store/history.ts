import assert from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import { DONE } from "../webhooks/project.ts";
import { type addKey, type Clock, enqueue } from "./temporary.ts";

type Key = Awaited<ReturnType<typeof addKey>>;

/** Accepts a submission, claims it after `waitMs` and ends it after another `runMs`. */
export async function end(
  store: Store,
  clock: Clock,
  key: Key,
  { outcome = DONE, waitMs = 0, runMs = 0, language = "python", projectId = null as string | null } = {},
): Promise<string> {
  await enqueue(store, { ...key, projectId }, { nowMs: clock.nowMs, language });
  clock.nowMs += waitMs;
  const [claim] = await store.submissions.claim("w", 60_000);
  assert.ok(claim);
  clock.nowMs += runMs;
  assert.ok(await store.submissions.finish(claim.lease, outcome));
  return claim.submission.id;
}

/** Counts all ends, in steps. @returns their number. */
export async function countAll(store: Store): Promise<number> {
  let counted = 0;
  for (let more = true; more; ) {
    const some = await store.history.count(2);
    counted += some;
    more = some === 2;
  }
  return counted;
}
