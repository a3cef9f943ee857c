import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { openStore } from "../../src/store/open.ts";
import { addKey, enqueue, onEachEngine, temporaryStore } from "./temporary.ts";

onEachEngine((temporaryStore) => {
  test("what was accepted is still there after the process is gone", async (t) => {
    const { store, another } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const accepted = await enqueue(store, key);
    assert.ok(accepted.kind === "enqueued");
    // A second process reads the database while the first one never closed it.
    const other = await another();
    assert.deepEqual(await other.submissions.get(accepted.submission.id, key.accountId), accepted.submission);
  });

  test("what refers to nothing is refused", async (t) => {
    const { store } = await temporaryStore(t);
    await assert.rejects(enqueue(store, { keyId: "nobody", accountId: "nobody" }), /foreign key/i);
  });

  test("an id that no database could hold is unknown", async (t) => {
    const { store } = await temporaryStore(t);
    const { accountId } = await addKey(store, "a");
    for (const id of ["", "\0", "\u{d800}", "'; drop table submissions", "x".repeat(10_000)]) {
      assert.equal(await store.submissions.get(id, accountId), undefined);
    }
  });

  test("waiters are answered when the store closes", { timeout: 10_000 }, async (t) => {
    const { database, another } = await temporaryStore(t);
    const store = await openStore({ database });
    const key = await addKey(store, "a");
    const accepted = await enqueue(store, key);
    assert.ok(accepted.kind === "enqueued");
    const { id } = accepted.submission;
    const never = new AbortController().signal;
    // More than a server has connections for one process.
    const waiting = Array.from({ length: 30 }, () => store.submissions.whenTerminal(id, key.accountId, never));
    await new Promise(setImmediate);
    await store.close();
    for (const one of await Promise.all(waiting)) assert.equal(one?.status, "pending");
    assert.equal(await (await another()).submissions.depth(), 1);
  });
});

test("SQLite: two processes write to one file, and each waits for the other", async (t) => {
  const { store, database } = await temporaryStore(t);
  const key = await addKey(store, "a");
  const script = new URL("second-writer.ts", import.meta.url).pathname;
  assert.ok(database.kind === "sqlite");
  const other = spawn(process.execPath, [script, database.path, key.keyId, key.accountId, "150"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(other, "exit");
  await once(other.stdout, "data");
  for (let i = 0; i < 150; i++) await enqueue(store, key);
  assert.deepEqual(await ended, [0, null]);
  assert.equal(await store.submissions.depth(), 300);
});
