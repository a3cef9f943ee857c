import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql, type Transaction } from "kysely";
import type { Database } from "../../../src/store/database/database.ts";
import { Notifier } from "../../../src/store/database/notifier.ts";
import { openPostgres } from "../../../src/store/database/postgres.ts";
import type { Schema } from "../../../src/store/database/schema.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { Transactions } from "../../../src/store/database/transactions.ts";
import { migrate, migrateTo, NEWEST, readVersion } from "../../../src/store/schema/migrate.ts";
import { postgresServer } from "../../support/store/temporary.ts";

async function sqlite(t: TestContext): Promise<Database> {
  const directory = mkdtempSync(join(tmpdir(), "assay-engine-"));
  t.after(() => rmSync(directory, { recursive: true }));
  return opened(t, await openSqlite(join(directory, "assay.sqlite"), null));
}

async function postgres(t: TestContext): Promise<Database> {
  const server = await postgresServer();
  return opened(t, await openPostgres(server.url(await server.createDatabase())));
}

async function opened(t: TestContext, engine: Database): Promise<Database> {
  t.after(() => engine.db.destroy());
  await migrate(engine);
  return engine;
}

for (const [name, open] of Object.entries({ SQLite: sqlite, PostgreSQL: postgres })) {
  describe(`on ${name}`, () => {
    test("a failed transaction leaves no changes and does not affect concurrent ones", async (t) => {
      const engine = await open(t);
      const transactions = new Transactions(engine, new Notifier());
      const add = (tier: string, fail: boolean) =>
        transactions.run(async (trx) => {
          await trx.insertInto("tiers").values({ name: tier, requests_per_minute: 1, concurrency: 1 }).execute();
          if (fail) throw new Error(tier);
        });
      const results = await Promise.allSettled([add("first", false), add("broken", true), add("last", false)]);
      assert.deepEqual(
        results.map(({ status }) => status),
        ["fulfilled", "rejected", "fulfilled"],
      );
      const tiers = await engine.db.selectFrom("tiers").select("name").orderBy("name").execute();
      assert.deepEqual(
        tiers.map((tier) => tier.name),
        ["beta", "first", "last"],
      );
    });

    test("numbers are exact up to 2^53, and text is returned unchanged", async (t) => {
      const { db } = await open(t);
      const at = 2 ** 53 - 1;
      await db.insertInto("accounts").values({ id: "a", name: "\u{1F600} ü", tier: "beta", created_at: at }).execute();
      assert.deepEqual(await db.selectFrom("accounts").select(["id", "name", "tier", "created_at"]).execute(), [
        { id: "a", name: "\u{1F600} ü", tier: "beta", created_at: at },
      ]);
    });

    test("notifications are sent after the commit, and not for failed transactions", async (t) => {
      const engine = await open(t);
      const notifier = new Notifier();
      const transactions = new Transactions(engine, notifier);
      let ends = 0;
      notifier.onEnd("x", () => ends++);
      const word = { notifications: () => [{ kind: "ended", id: "x" }] as const };
      await transactions.run(async () => assert.equal(ends, 0), word);
      assert.equal(ends, 1);
      await assert.rejects(
        transactions.run(() => Promise.reject(new Error("no")), word),
        /no/,
      );
      assert.equal(ends, 1);
    });
  });
}

test("SQLite: commits are durable: WAL, flushed at every commit", async (t) => {
  const { db } = await sqlite(t);
  await db.transaction().execute(async (trx) => {
    const setting = async (name: string) =>
      Object.values((await sql`pragma ${sql.raw(name)}`.execute(trx)).rows[0] ?? {});
    assert.deepEqual(await setting("journal_mode"), ["wal"]);
    assert.deepEqual(await setting("synchronous"), [2]);
    assert.deepEqual(await setting("foreign_keys"), [1]);
  });
});

test("SQLite: concurrent transactions share a commit", async (t) => {
  const engine = await sqlite(t);
  const transactions = new Transactions(engine, new Notifier());
  let commits = 0;
  const transaction = engine.db.transaction.bind(engine.db);
  t.mock.method(engine.db, "transaction", () => {
    commits++;
    return transaction();
  });
  await Promise.all(Array.from({ length: 50 }, () => transactions.run(async () => {})));
  assert.equal(commits, 1);
});

test("SQLite: unflushed work is not flushed by itself, but with durable work", async (t) => {
  const opened = await sqlite(t);
  const transactions = new Transactions(opened, new Notifier());
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
  await transactions.runUnflushed(add("forgettable again"));
  // This statement is outside of a transaction. The writing thread reads a setting only if the statement also writes.
  const { rows } = await sql<{ name: string }>`
    insert into tiers (name, requests_per_minute, concurrency)
    select synchronous, 1, 1 from pragma_synchronous returning name`.execute(opened.db);
  assert.deepEqual(rows, [{ name: "2" }]);
});

test("PostgreSQL: unflushed work commits asynchronously, and the next transaction synchronously", async (t) => {
  const transactions = new Transactions(await postgres(t), new Notifier());
  const setting = async (trx: Transaction<Schema>) => {
    const { rows } = await sql<{ value: string }>`select current_setting('synchronous_commit') as value`.execute(trx);
    return rows[0]?.value;
  };
  assert.equal(await transactions.runUnflushed(setting), "off");
  assert.equal(await transactions.run(setting), "on");
});

test("PostgreSQL: an integer beyond 2^53 is an error, not a rounded number", async (t) => {
  const { db } = await postgres(t);
  await assert.rejects(sql`select 9007199254740993::bigint`.execute(db), /too large for an exact number/);
});

test("PostgreSQL: deadlocked transactions are retried until both commit", async (t) => {
  const engine = await postgres(t);
  const transactions = new Transactions(engine, new Notifier());
  const rows = ["one", "two"];
  const add = (name: string) => ({ name, requests_per_minute: 0, concurrency: 1 });
  await engine.db.insertInto("tiers").values(rows.map(add)).execute();
  let [tries, held] = [0, 0];
  const both = Promise.withResolvers<void>();
  const cross = (names: readonly string[]) =>
    transactions.run(async (trx) => {
      tries++;
      for (const [at, name] of names.entries()) {
        await trx
          .updateTable("tiers")
          .set((eb) => ({ requests_per_minute: eb("requests_per_minute", "+", 1) }))
          .where("name", "=", name)
          .execute();
        if (++held === 2) both.resolve();
        if (at === 0) await both.promise; // each holds the row that the other needs next
      }
    });
  await Promise.all([cross(rows), cross(rows.toReversed())]);
  // PostgreSQL ends one of the two; on a loaded machine it may end the other one as well.
  assert.ok(tries >= 3, `${tries} tries`);
  const counts = await engine.db.selectFrom("tiers").select("requests_per_minute").where("name", "in", rows).execute();
  assert.deepEqual(counts, [{ requests_per_minute: 2 }, { requests_per_minute: 2 }]);
});

test("PostgreSQL: a migration that loses a deadlock against an older release is repeated", async (t) => {
  const server = await postgresServer();
  const engine = await openPostgres(server.url(await server.createDatabase()));
  t.after(() => engine.db.destroy());
  const { db, abilities } = engine;
  await db.transaction().execute((trx) => migrateTo(trx, abilities, 15));
  let migrating: Promise<void> | undefined;
  await db.transaction().execute(async (older) => {
    await sql`lock table submissions, accounts, endpoints, audit in access share mode`.execute(older);
    migrating = migrate(engine);
    const waits = sql`select from pg_locks where not granted and relation is not null
      and database = (select oid from pg_database where datname = current_database())`;
    while ((await waits.execute(db)).rows.length === 0) await sleep(5);
    // PostgreSQL ends the transaction that finds the deadlock: the migration, because this one does not look for it.
    await sql`set local deadlock_timeout = '10min'`.execute(older);
    await sql`lock table schema_version in access exclusive mode`.execute(older);
  });
  await migrating;
  assert.equal(await readVersion(db, abilities), NEWEST);
});

test("PostgreSQL: a transaction that always fails to serialize fails after six tries", async (t) => {
  const transactions = new Transactions(await postgres(t), new Notifier());
  let tries = 0;
  const lose = transactions.run(async (trx) => {
    tries++;
    await sql`do $$ begin raise exception 'lost' using errcode = 'serialization_failure'; end $$`.execute(trx);
  });
  await assert.rejects(lose, /lost/);
  assert.equal(tries, 6);
});
