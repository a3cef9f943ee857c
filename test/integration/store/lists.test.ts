import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { sql } from "kysely";
import { within } from "../../../bench/load/database.ts";
import { openDatabase } from "../../../src/store/open.ts";
import { migrateTo, NEWEST } from "../../../src/store/schema/migrate.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { addKey, emptyDatabase, enqueue, onEachDatabase, type Temporary } from "../../support/store/temporary.ts";
import { report } from "../../support/verdict/reports.ts";

/** The last schema version without causes. */
const BEFORE = 13;

/** Adds ended submissions of a key, directly, with the verdict by number. */
async function fill({ database }: Temporary, key: { accountId: string; keyId: string }, amount: number, ids = "many-") {
  await within(database, async ({ db }) => {
    await sql`insert into submissions (id, account_id, key_id, language, profile, status, attempts, created_at, started_at,
        completed_at, verdict, cause)
      with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sql.lit(amount)})
      select ${sql.lit(ids)} || i, ${sql.lit(key.accountId)}, ${sql.lit(key.keyId)}, 'c', 'judge', 'completed', 1, i * 1000, i * 1000, i * 1000,
        case when i % 100 = 0 then 'RE' else 'AC' end, case when i % 100 = 0 then 'nonzero_exit' else 'normal_exit' end from n`.execute(
      db,
    );
  });
}

onEachDatabase((temporaryStore) => {
  test("submissions are found by the beginning of their id, of the account only, in both orders", async (t) => {
    const { store } = await temporaryStore(t);
    const [one, other] = [await addKey(store, "one"), await addKey(store, "other")];
    const accepted = [];
    for (let n = 0; n < 6; n++) {
      const made = await enqueue(store, n % 2 === 0 ? one : other);
      assert.ok(made.kind === "enqueued");
      accepted.push(made.submission.id);
    }
    for (const [at, id] of accepted.entries()) {
      const mine = [(at % 2 === 0 ? one : other).accountId];
      const theirs = [(at % 2 === 0 ? other : one).accountId];
      for (const length of [8, 9, 14, 35, 36]) {
        const ids = async (accountIds: readonly string[] | null) =>
          (await store.submissionSearch.search({ prefix: id.slice(0, length), accountIds, max: 5 })).found.map(
            (found) => found.id,
          );
        assert.deepEqual(await ids(mine), [id], `${length}`);
        assert.deepEqual(await ids(null), [id], `${length}`);
        assert.deepEqual(await ids(theirs), []);
      }
      const prefix = id.slice(0, 8);
      assert.deepEqual(
        (await store.submissionSearch.search({ prefix, status: "running", accountIds: null, max: 5 })).found,
        [],
      );
    }
    const all = (order: "newest" | "oldest") => pages(store, { order, accountIds: null, prefix: "" }, 2);
    assert.deepEqual(await all("oldest"), accepted);
    assert.deepEqual(await all("newest"), accepted.toReversed());
  });

  test("the oldest first: every page continues where the last one ended, over accounts and ranges", async (t) => {
    const temporary = await temporaryStore(t);
    const { store } = temporary;
    const [one, other] = [await addKey(store, "one"), await addKey(store, "other")];
    // First, because times increase with numbers.
    await fill(temporary, other, 20, "few-");
    await fill(temporary, one, 6_000);
    const accountIds = [one.accountId, other.accountId];
    for (const which of [{ accountIds }, { accountIds: null }, { accountIds, verdict: "RE" }]) {
      const up = await pages(store, { ...which, order: "oldest" }, 200);
      const down = await pages(store, { ...which, order: "newest" }, 200);
      assert.equal(up.length, which.verdict ? 60 : 6_020);
      assert.deepEqual(up, down.toReversed());
    }
    const some = await pages(store, { accountIds, order: "oldest", sinceMs: 5_990_000, untilMs: 5_993_000 }, 2);
    assert.deepEqual(some, ["many-5990", "many-5991", "many-5992"]);
  });

  test("matches are counted, among a bounded number of the newest rows of each account", async (t) => {
    const temporary = await temporaryStore(t);
    const { store } = temporary;
    const [one, other] = [await addKey(store, "one"), await addKey(store, "other")];
    // First, because times increase with numbers.
    await fill(temporary, other, 300, "few-");
    await fill(temporary, one, 12_000);
    const count = (which: object, ...accounts: readonly { accountId: string }[]) =>
      store.submissionSearch.count({ max: 1, accountIds: accounts.map(({ accountId }) => accountId), ...which });
    assert.deepEqual(await count({}, one), { matches: 10_000, isWhole: false });
    assert.deepEqual(await count({}, other), { matches: 300, isWhole: true });
    assert.deepEqual(await count({ verdict: "RE" }, one, other), { matches: 103, isWhole: false });
    assert.deepEqual(await count({ verdict: "RE", before: 5 }, other), { matches: 3, isWhole: true });
    assert.deepEqual(await count({ cause: "normal_exit" }, other), { matches: 297, isWhole: true });
    assert.deepEqual(await count({ sinceMs: 11_990_000, untilMs: 12_000_001 }, one), { matches: 11, isWhole: true });
    assert.deepEqual(await count({}), { matches: 0, isWhole: true });
  });

  test("the row of an end has its cause, so that a compile error is no other RE", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "key");
    for (const outcome of [
      buildOutcome({ compile: report({ exitCode: 1 }) }),
      buildOutcome({ execute: report({ exitCode: 1 }) }),
      buildOutcome({ execute: report() }),
    ]) {
      await enqueue(store, key);
      const [claim] = await store.submissions.claim("w", 60_000);
      assert.ok(claim && (await store.submissions.finish(claim.lease, outcome)));
    }
    const cancelled = await enqueue(store, key);
    assert.ok(cancelled.kind === "enqueued");
    await store.submissions.cancel(cancelled.submission.id, key.accountId);
    const { found } = await store.submissionSearch.search({ accountIds: null, max: 9 });
    assert.deepEqual(
      found.map(({ verdict, cause }) => [verdict, cause]),
      [
        ["IE", "cancelled"],
        ["AC", "normal_exit"],
        ["RE", "nonzero_exit"],
        ["RE", "compile_error"],
      ],
    );
    const compiled = await store.submissionSearch.search({ accountIds: null, cause: "compile_error", max: 9 });
    assert.deepEqual(
      compiled.found.map(({ id }) => id),
      [found[3]?.id],
    );
  });
});

/** The ids of all pages. */
async function pages(
  { submissionSearch }: Temporary["store"],
  which: Omit<Parameters<Temporary["store"]["submissionSearch"]["search"]>[0], "max">,
  max: number,
): Promise<string[]> {
  const { prefix, ...rest } = which;
  const ids: string[] = [];
  for (let before: number | undefined; ; ) {
    const { found, next } = await submissionSearch.search({ ...rest, ...(prefix && { prefix }), before, max });
    assert.ok(found.length <= max);
    ids.push(...found.map(({ id }) => id));
    if (next === null) return ids;
    before = next;
  }
}

for (const kind of ["sqlite", "postgres"] as const) {
  test(`the migration to causes reads them from earlier outcomes on ${kind}`, async (t) => {
    const database = await emptyDatabase(t, kind);
    const engine = await openDatabase(database);
    t.after(() => engine.db.destroy());
    await engine.db.transaction().execute((trx) => migrateTo(trx, engine.abilities, BEFORE));
    await sql`insert into accounts (id, name, tier, created_at) values ('a', 'a', 'beta', 0)`.execute(engine.db);
    await sql`insert into api_keys (id, account_id, name, prefix, hash, profiles, default_profile, created_at)
      values ('k', 'a', 'k', 'p', 'h', '["judge"]', 'judge', 0)`.execute(engine.db);
    const ends = ["compile_error", "nonzero_exit", "normal_exit"];
    for (const [at, cause] of ends.entries()) {
      const verdict = cause === "normal_exit" ? "AC" : "RE";
      await sql`insert into submissions (id, account_id, key_id, language, profile, status, attempts, created_at, verdict)
        values (${randomUUID()}, 'a', 'k', 'c', 'judge', 'completed', 1, ${at}, ${verdict})`.execute(engine.db);
      await sql`insert into outcomes (submission_seq, body) values (${at + 1}, ${JSON.stringify({ judgement: { verdict, cause } })})`.execute(
        engine.db,
      );
    }
    await engine.db.transaction().execute((trx) => migrateTo(trx, engine.abilities, NEWEST));
    await within(database, async ({ db }) => {
      const rows = await db.selectFrom("submissions").select(["verdict", "cause"]).orderBy("seq").execute();
      assert.deepEqual(rows, [
        { verdict: "RE", cause: "compile_error" },
        { verdict: "RE", cause: "nonzero_exit" },
        { verdict: "AC", cause: null },
      ]);
    });
  });
}
