import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { openStore } from "../../../src/store/open.ts";
import { addKey, enqueue, onEachDatabase, temporaryStore } from "../../support/store/temporary.ts";

onEachDatabase((temporaryStore) => {
  test("an accepted submission survives its process", async (t) => {
    const { store, another } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const accepted = await enqueue(store, key);
    assert.ok(accepted.kind === "enqueued");
    // A second process reads the database, which the first never closed.
    const other = await another();
    assert.deepEqual(await other.submissions.get(accepted.submission.id, key.accountId), accepted.submission);
  });

  test("rejects a submission of an unknown key and account", async (t) => {
    const { store } = await temporaryStore(t);
    await assert.rejects(enqueue(store, { keyId: "nobody", accountId: "nobody" }), /foreign key/i);
  });

  test("an id that no database can store is not found", async (t) => {
    const { store } = await temporaryStore(t);
    const { accountId } = await addKey(store, "a");
    for (const id of ["", "\0", "\u{d800}", "'; drop table submissions", "x".repeat(10_000)]) {
      assert.equal(await store.submissions.get(id, accountId), undefined);
    }
  });

  test("closing the store resolves all waiters", { timeout: 10_000 }, async (t) => {
    const { database, another } = await temporaryStore(t);
    const store = await openStore({ database });
    const key = await addKey(store, "a");
    const accepted = await enqueue(store, key);
    assert.ok(accepted.kind === "enqueued");
    const { id } = accepted.submission;
    const never = new AbortController().signal;
    // More waiters than a server allows connections to one process.
    const waiting = Array.from({ length: 30 }, () => store.submissions.whenTerminal(id, key.accountId, never));
    await new Promise(setImmediate);
    await store.close();
    for (const one of await Promise.all(waiting)) assert.equal(one?.status, "pending");
    assert.equal(await (await another()).submissions.depth(), 1);
  });
});

test("SQLite: two processes write to one file and wait for each other", async (t) => {
  const { store, database } = await temporaryStore(t);
  const key = await addKey(store, "a");
  const script = new URL("./second-writer.ts", import.meta.url).pathname;
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
