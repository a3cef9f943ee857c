import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreUnavailable } from "../../../src/store/database/errors.ts";
import { instrumented } from "../../../src/store/instrumented.ts";
import type { Store } from "../../../src/store/store.ts";
import { noting } from "../../support/metrics/noting.ts";
import { addKey, enqueue, temporaryStore } from "../../support/store/temporary.ts";

test("each call of the store is timed under its operation, except waits for a program", async (t) => {
  const { store } = await temporaryStore(t);
  const { meter, said } = noting();
  const timed = instrumented(store, meter);
  const key = await addKey(timed, "key");
  const enqueued = await enqueue(timed, key);
  assert.ok("submission" in enqueued);
  const { id, accountId } = enqueued.submission;
  await timed.submissions.claim("w", 1_000);
  await timed.submissions.get(id, accountId);
  await timed.submissions.whenTerminal(id, accountId, AbortSignal.timeout(1));
  await timed.quota.take(key.keyId, 10);
  await timed.keys.findCaller(key.hash);
  await timed.deliveries.nextDueMs(0);
  timed.onWork(() => {})();
  assert.deepEqual(said, [
    "database admin",
    "database admin",
    "database accept",
    "database claim",
    "database read",
    "database quota",
    "database authenticate",
    "database deliveries",
  ]);
});

test("failed calls are timed and counted by kind, and their errors are rethrown unchanged", async () => {
  const { meter, said } = noting();
  const away = new StoreUnavailable("it is restarted");
  const fails = (error: Error) => ({ submissions: { depth: () => Promise.reject(error) } }) as unknown as Store;
  await assert.rejects(instrumented(fails(away), meter).submissions.depth(), away);
  await assert.rejects(instrumented(fails(new Error("bug")), meter).submissions.depth(), /bug/);
  assert.deepEqual(said, ["database read", "databaseErrors read away", "database read", "databaseErrors read other"]);
});
