import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { sql, type Transaction } from "kysely";
import type { Engine } from "../../src/store/engine.ts";
import { migrate } from "../../src/store/migrate.ts";
import type { Schema } from "../../src/store/schema.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { Transactions } from "../../src/store/transactions.ts";

async function engine(t: TestContext): Promise<Engine> {
  const directory = mkdtempSync(join(tmpdir(), "assay-engine-"));
  const opened = openSqlite(join(directory, "assay.sqlite"));
  await migrate(opened);
  t.after(async () => {
    await opened.db.destroy();
    rmSync(directory, { recursive: true });
  });
  return opened;
}

test("a commit survives a power cut: WAL, flushed at every commit", async (t) => {
  const { db } = await engine(t);
  const setting = async (name: string) => Object.values((await sql`pragma ${sql.raw(name)}`.execute(db)).rows[0] ?? {});
  assert.deepEqual(await setting("journal_mode"), ["wal"]);
  assert.deepEqual(await setting("synchronous"), [2]);
  assert.deepEqual(await setting("foreign_keys"), [1]);
});

test("a piece of work that fails leaves nothing behind, and its neighbours stay", async (t) => {
  const opened = await engine(t);
  const transactions = new Transactions(opened);
  const add = (name: string, fail: boolean) =>
    transactions.run(async (trx) => {
      await trx.insertInto("tiers").values({ name, requests_per_minute: 1, concurrency: 1 }).execute();
      if (fail) throw new Error(name);
    });
  const results = await Promise.allSettled([add("first", false), add("broken", true), add("last", false)]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  const names = await opened.db.selectFrom("tiers").select("name").orderBy("name").execute();
  assert.deepEqual(
    names.map(({ name }) => name),
    ["beta", "first", "last"],
  );
});

test("work that waits together shares a commit", async (t) => {
  const opened = await engine(t);
  const transactions = new Transactions(opened);
  let commits = 0;
  const transaction = opened.db.transaction.bind(opened.db);
  t.mock.method(opened.db, "transaction", () => {
    commits++;
    return transaction();
  });
  await Promise.all(Array.from({ length: 50 }, () => transactions.run(async () => {})));
  assert.equal(commits, 1);
});

test("what need not be on the disk is not flushed, and what comes with it or after it is", async (t) => {
  const opened = await engine(t);
  const transactions = new Transactions(opened);
  const add = (name: string) => async (trx: Transaction<Schema>) => {
    await trx.insertInto("tiers").values({ name, requests_per_minute: 1, concurrency: 1 }).execute();
    return Object.values((await sql`pragma synchronous`.execute(trx)).rows[0] ?? {})[0];
  };
  assert.equal(await transactions.runUnflushed(add("forgettable")), 1);
  assert.equal(await transactions.run(add("durable")), 2);
  const together = [
    transactions.runUnflushed(add("a")),
    transactions.run(add("b")),
    transactions.runUnflushed(add("c")),
  ];
  assert.deepEqual(await Promise.all(together), [2, 2, 2]);
  await assert.rejects(
    transactions.runUnflushed(async () => Promise.reject(new Error("x"))),
    /x/,
  );
  assert.equal(await transactions.run(add("after a failure")), 2);
});
