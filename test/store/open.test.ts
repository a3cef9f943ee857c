import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { openStore } from "../../src/store/open.ts";
import { addKey, enqueue, temporaryStore } from "./temporary.ts";

test("what was accepted is still there after the process is gone", async (t) => {
  const { store, path } = await temporaryStore(t);
  const key = await addKey(store, "a");
  const accepted = await enqueue(store, key);
  assert.ok(accepted.kind === "enqueued");
  // A second process reads the file while the first one never closed it.
  const other = await openStore({ path });
  assert.deepEqual(await other.submissions.get(accepted.submission.id, key.accountId), accepted.submission);
  await other.close();
});

test("what refers to nothing is refused", async (t) => {
  const { store } = await temporaryStore(t);
  await assert.rejects(enqueue(store, { keyId: "nobody", accountId: "nobody" }), /FOREIGN KEY/);
});

test("a newer schema is refused, not touched", async (t) => {
  const { path } = await temporaryStore(t);
  const database = new Database(path);
  database.exec("update schema_version set version = 999");
  await assert.rejects(openStore({ path }), /schema version 999/);
  assert.equal(database.prepare("select version from schema_version").pluck().get(), 999);
  database.close();
});

test("two processes write to one file, and each waits for the other", async (t) => {
  const { store, path } = await temporaryStore(t);
  const key = await addKey(store, "a");
  const script = new URL("second-writer.ts", import.meta.url).pathname;
  const other = spawn(process.execPath, [script, path, key.keyId, key.accountId, "150"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(other, "exit");
  await once(other.stdout, "data");
  for (let i = 0; i < 150; i++) await enqueue(store, key);
  assert.deepEqual(await ended, [0, null]);
  assert.equal(await store.submissions.depth(), 300);
});

test("waiters are answered when the store closes", { timeout: 10_000 }, async (t) => {
  const { path } = await temporaryStore(t);
  const store = await openStore({ path: join(path, "..", "closing.sqlite") });
  const key = await addKey(store, "a");
  const accepted = await enqueue(store, key);
  assert.ok(accepted.kind === "enqueued");
  const waiting = store.submissions.whenTerminal(accepted.submission.id, key.accountId, new AbortController().signal);
  await new Promise(setImmediate);
  await store.close();
  assert.equal((await waiting)?.status, "pending");
});
