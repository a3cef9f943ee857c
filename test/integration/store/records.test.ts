import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { within } from "../../../bench/load/database.ts";
import type { DatabaseLocation } from "../../../src/domain/database.ts";
import { internalError } from "../../../src/domain/outcome.ts";
import type { SubmissionSearch } from "../../../src/store/search/types.ts";
import type { Store } from "../../../src/store/store.ts";
import { addKey, enqueue, onEachDatabase, START_MS } from "../../support/store/temporary.ts";
import { addProject, DONE } from "../../support/webhooks/project.ts";

const HOUR_MS = 3_600_000;

/** Finds all matches, in order, by as many searches as necessary. */
async function all(store: Store, which: Partial<SubmissionSearch>): Promise<{ ids: string[]; searches: number }> {
  const ids: string[] = [];
  let searches = 0;
  for (let before: number | undefined | null; before !== null; searches++) {
    const { found, next } = await store.submissionSearch.search({ accountIds: null, max: 2, before, ...which });
    assert.ok(found.length <= (which.max ?? 2));
    ids.push(...found.map(({ id }) => id));
    before = next;
  }
  return { ids, searches };
}

/** Adds ended records of an account, one for each second before START_MS. */
async function fill(database: DatabaseLocation, account: string, key: string, amount: number): Promise<void> {
  const numbers = sql`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${amount})`;
  await within(database, ({ db }) =>
    sql`insert into submissions (id, account_id, key_id, language, profile, status, attempts, created_at, started_at, completed_at, verdict)
      ${numbers} select ${key} || n, cast(${account} as text), cast(${key} as text), 'c', 'judge', 'completed', 1,
        ${sql.lit(START_MS)} - (${sql.lit(amount)} - n) * 1000, ${START_MS}, ${START_MS}, 'AC' from numbers order by n`.execute(
      db,
    ),
  );
}

onEachDatabase((temporaryStore) => {
  test("submissions are found newest first, by each property, in pages, within the given accounts", async (t) => {
    const { store, database } = await temporaryStore(t);
    const project = await addProject(store, "shop");
    const other = await addKey(store, "other");
    const shop = project.key;
    const made: Record<string, string> = {};
    const add = async (name: string, key: typeof shop | typeof other, more: Parameters<typeof enqueue>[2] = {}) => {
      const enqueued = await enqueue(store, key, more);
      assert.ok(enqueued.kind === "enqueued");
      made[name] = enqueued.submission.id;
    };
    await add("ended", shop, { nowMs: START_MS - 9 * HOUR_MS });
    const [first] = await store.submissions.claim("w", 60_000);
    assert.ok(first);
    await store.submissions.finish(first.lease, DONE);
    await add("failed", other, { language: "c", nowMs: START_MS - 5 * HOUR_MS });
    const [second] = await store.submissions.claim("w", 60_000);
    assert.ok(second);
    await store.submissions.finish(second.lease, internalError("x"));
    await add("waits", shop, { language: "c", nowMs: START_MS - HOUR_MS });
    await add("newest", other);
    await within(database, ({ db }) =>
      db.updateTable("submissions").set({ project_id: project.id }).where("account_id", "=", shop.accountId).execute(),
    );
    const names = async (which: Partial<SubmissionSearch>) => {
      const { ids } = await all(store, which);
      return ids.map((id) => Object.entries(made).find(([, one]) => one === id)?.[0]);
    };
    assert.deepEqual(await names({}), ["newest", "waits", "failed", "ended"]);
    const [mine, theirs] = [shop.accountId, other.accountId];
    for (const [which, expected] of [
      [{ accountIds: [mine] }, ["waits", "ended"]],
      [{ accountIds: [theirs, mine] }, ["newest", "waits", "failed", "ended"]],
      [{ accountIds: [] }, []],
      [{ verdict: "IE" }, ["failed"]],
      [{ verdict: "AC", accountIds: [theirs] }, []],
      [{ status: "pending" }, ["newest", "waits"]],
      [{ language: "c" }, ["waits", "failed"]],
      [{ keyId: other.keyId }, ["newest", "failed"]],
      [{ projectId: project.id }, ["waits", "ended"]],
      [{ sinceMs: START_MS - 5 * HOUR_MS }, ["newest", "waits", "failed"]],
      [{ untilMs: START_MS - 5 * HOUR_MS }, ["ended"]],
      [{ sinceMs: START_MS - 5 * HOUR_MS, untilMs: START_MS, language: "c" }, ["waits", "failed"]],
      [{ sinceMs: START_MS + 1 }, []],
      [{ untilMs: 1 }, []],
      [{ id: made.failed }, ["failed"]],
      [{ id: made.failed, accountIds: [mine] }, []],
      [{ id: made.failed, status: "pending" }, []],
      [{ id: "nobody's" }, []],
    ] as const) {
      assert.deepEqual(await names(which), expected, JSON.stringify(which));
    }
    const [row] = (await store.submissionSearch.search({ accountIds: null, id: made.ended, max: 2 })).found;
    assert.deepEqual(row, {
      id: made.ended,
      status: "completed",
      verdict: "AC",
      cause: "normal_exit",
      language: "python",
      profile: "judge",
      account: { id: mine, name: "shop" },
      project: { id: project.id, name: "shop" },
      key: { id: project.key.keyId, name: row?.key.name },
      createdAtMs: START_MS - 9 * HOUR_MS,
      startedAtMs: START_MS,
      completedAtMs: START_MS,
    });
  });

  test("rare matches are found in steps: each search reads a bounded number and returns its end", async (t) => {
    const { store, database } = await temporaryStore(t);
    const [busy, quiet] = [await addKey(store, "busy"), await addKey(store, "quiet")];
    const old = await enqueue(store, quiet);
    const rare = await enqueue(store, busy, { language: "rust" });
    await fill(database, busy.accountId, busy.keyId, 12_000);
    const young = await enqueue(store, quiet);
    assert.ok(old.kind === "enqueued" && young.kind === "enqueued" && rare.kind === "enqueued");
    const found = await all(store, { language: "rust" });
    assert.deepEqual([found.ids, found.searches], [[rare.submission.id], 3]);
    const inAccount = await all(store, { language: "rust", accountIds: [busy.accountId] });
    assert.deepEqual([inAccount.ids, inAccount.searches], [[rare.submission.id], 3]);
    // Many records of one account do not slow a search in another.
    const few = await all(store, { accountIds: [quiet.accountId], max: 9 });
    assert.deepEqual(few, { ids: [young.submission.id, old.submission.id], searches: 1 });
    // A time range is found without reading older or newer records.
    const times = { sinceMs: START_MS - 6_001_000, untilMs: START_MS - 6_000_000, accountIds: [busy.accountId] };
    const { found: at, next } = await store.submissionSearch.search({ ...times, max: 9 });
    assert.deepEqual([at.map(({ createdAtMs }) => createdAtMs - START_MS), next], [[-6_001_000], null]);
    assert.deepEqual((await all(store, { ...times, verdict: "RE" })).searches, 1);
  });

  test("a record is read with its program and its owner", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "key");
    const enqueued = await enqueue(store, key, { code: "é", stdin: "in" });
    assert.ok(enqueued.kind === "enqueued");
    const { id } = enqueued.submission;
    const read = await store.submissionSearch.read(id, null);
    assert.deepEqual(
      [read?.submission, read?.program.code.toString(), read?.program.stdin.toString(), read?.found.key],
      [enqueued.submission, "é", "in", { id: "key", name: "key" }],
    );
    assert.equal(await store.submissionSearch.read("nobody's", null), undefined);
  });
});
