import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import BetterSqlite from "better-sqlite3";
import { Kysely, sql, type Transaction } from "kysely";
import pg from "pg";
import { within } from "../../../bench/load/database.ts";
import { seed } from "../../../bench/load/seed.ts";
import type { DatabaseLocation } from "../../../src/domain/database.ts";
import { type OperationCall, perform, runPieces } from "../../../src/store/database/operations.ts";
import { BY_INDEX } from "../../../src/store/database/postgres.ts";
import type { Schema } from "../../../src/store/database/schema.ts";
import { SqliteLinks, sqliteDialect } from "../../../src/store/database/sqlite-driver.ts";
import { SqliteLink } from "../../../src/store/database/sqlite-link.ts";
import type { Request } from "../../../src/store/database/sqlite-thread.ts";
import { OPERATIONS } from "../../../src/store/operations.ts";
import { enqueue, onEachDatabase, type Temporary } from "../../support/store/temporary.ts";
import { addEndpoint, addProject, DONE, deliveryBudget } from "../../support/webhooks/project.ts";

/** Frequent statements of a service find their rows by an index, and keep their plan with ten times the records. */
const SMALL = 10_000;
const LARGE = 100_000;
/** Tables that grow with every submission. Those with a row for each key or account are small. */
const BIG = ["submissions", "programs", "outcomes", "deliveries", "attempts"];

interface Asked {
  readonly text: string;
  readonly values: readonly unknown[];
}

onEachDatabase((temporaryStore) => {
  test("no frequent statement scans a big table, and ten times the records change no plan", async (t) => {
    const temporary = await temporaryStore(t);
    const { database } = temporary;
    const { store, clock } = temporary;
    const project = await addProject(store);
    await addEndpoint(store, project);
    const work = () => day(temporary, project);
    // The work first runs on almost empty tables: plans that are cached then must not stay in use once they have become bad.
    for (let at = 0; at < 8; at++) await work();
    const ways: Map<string, string[]>[] = [];
    for (const records of [SMALL, LARGE]) {
      await seed({ kind: database.kind, database }, records);
      await fillDeliveries(database);
      assert.deepEqual(await readThrough(database, work), [], `${records} records`);
      clock.nowMs += 61_000;
      const asked = await recorded(t, database, work);
      assert.ok(asked.length > 25, `only ${asked.length} statements were recorded`);
      ways.push(await waysOf(database, asked));
    }
    const [small, large] = ways;
    assert.ok(small && large);
    for (const [text, way] of large) if (small.has(text)) assert.deepEqual(way, small.get(text), text);
  });
});

/** Tables in which one account can have many rows, which reads by other accounts must not scan. */
const LISTED = [
  "api_keys",
  "projects",
  "endpoints",
  "audit",
  "sign_in_attempts",
  "sandboxes",
  "executions",
  "snapshots",
];

onEachDatabase((temporaryStore) => {
  test("lists of keys, projects, endpoints, audit entries and sandboxes, and sign-in attempts, are found by an index", async (t) => {
    const { store, database, clock } = await temporaryStore(t);
    const project = await addProject(store);
    await addEndpoint(store, project);
    const { accountId, keyId } = project.key;
    await within(database, async ({ db }) => {
      await sql`insert into api_keys (id, account_id, name, prefix, hash, profiles, default_profile, created_at, revoked_at)
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
        select 'many-' || i, ${sql.lit(accountId)}, 'k', 'p', 'h-' || i, '["judge"]', 'judge', i, i from n`.execute(db);
      await sql`insert into audit (at, actor, action, subject, account_id, detail)
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
        select i, 'a', 'key.create', 'many-' || i, ${sql.lit(accountId)}, '{}' from n`.execute(db);
      await sql`insert into sandboxes (id, account_id, key_id, state, created_at, ended_at, lifetime_secs, idle_secs, memory_bytes, limits,
          metadata, worker_id, lease_until)
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
        select 'many-' || i, ${sql.lit(accountId)}, ${sql.lit(keyId)}, case i % 500 when 0 then 'paused' else 'ended' end, i,
          case i % 500 when 0 then null else i end, 1, 1, 1, '{}', '{}', 'w', i from n`.execute(db);
      await sql`insert into executions (sandbox_seq, number, key_id, kind, request, status, started_at)
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
        select (select max(seq) from sandboxes), i, ${sql.lit(keyId)}, 'shell', '{}', 'running', i from n`.execute(db);
      await sql`insert into snapshots (id, account_id, key_id, sandbox_id, bytes, files, sha256, store_id, created_at)
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
        select 'many-' || i, ${sql.lit(accountId)}, ${sql.lit(keyId)}, 'many-1', 1, 1, 'h', 's', i from n`.execute(db);
      await sql`insert into versions (account_id, hash, definition, complete, used_at)
        values (${sql.lit(accountId)}, 'h', '{}', 1, 0)`.execute(db);
      await sql`insert into judgements (id, account_id, key_id, version_seq, language, profile, stop, status, states, verdict,
          created_at, completed_at, problem_id, problem_version)
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
        select 'many-' || i, ${sql.lit(accountId)}, ${sql.lit(keyId)}, (select min(seq) from versions), 'c', 'judge', 'never',
          'completed', 'A', 'AC', i, i, case i % 4 when 0 then null when 1 then 'rare-' || i else 'often' end, 1 from n`.execute(
        db,
      );
      if (database.kind === "postgres") await sql`analyze`.execute(db);
    });
    const asked = await recorded(t, database, async () => {
      for (const accountIds of [null, [accountId]]) {
        for (const after of [undefined, keyId]) {
          await store.keys.list({ accountIds, after, max: 100 });
          await store.keys.list({ accountIds, after, max: 100, live: true, projectId: project.id });
        }
        await store.projects.list({ accountIds, max: 100, after: project.id });
        const [endpoint] = await store.endpoints.list({ accountIds, max: 100 });
        await store.endpoints.list({ accountIds, max: 100, after: endpoint?.id });
        await store.audit.list({ accountIds, max: 100, before: 1_000_000 });
        for (const which of [{}, { actor: "a" }, { action: "key.create" }, { subject: "many-1", actor: "a" }])
          await store.audit.search({ accountIds, max: 100, sinceMs: 1_000, untilMs: 4_000, ...which });
        await store.audit.named([accountId, keyId, project.id], accountIds);
        await store.keys.list({ accountIds, max: 100, name: "k" });
        await store.endpoints.failing(accountIds, 20);
        await store.history.marks(accountIds);
        for (const which of [{}, { state: "paused" }, { projectId: project.id, before: 4_000 }] as const)
          await store.sandboxSearch.search({ accountIds, max: 50, ...which });
        await store.sandboxSearch.search({ accountIds, max: 50, metadata: { task: "42" } });
        await store.sandboxSearch.get("many-1", accountIds);
        for (const which of [{}, { projectId: project.id, before: 4_000 }])
          await store.snapshotSearch.search({ accountIds, max: 50, ...which });
        await store.snapshotSearch.get("many-1", accountIds);
        await store.keys.list({ accountIds, max: 100, live: true, profile: "agent" });
      }
      await store.sandboxSearch.executionsMark("many-1");
      await store.keys.get(keyId);
      await store.keys.countLive([project.id]);
      await store.keys.profilesOf(accountId, "none");
      await store.endpoints.count([project.id]);
      await store.projects.get(project.id);
      await store.accounts.find(accountId);
      const attempt = { network: "192.0.2.1", email: "a@example.com" };
      await store.signIns.take(attempt, { both: 5, network: 30, email: 20 });
      await store.signIns.refused(attempt);
      await store.signIns.forget();
      const reading = { action: "submission.read", subject: "many-1" } as const;
      await store.audit.noteReading({ ...reading, actor: "a", address: "192.0.2.1", accountId });
      const key = { id: "new", accountId, projectId: project.id, name: "new", prefix: "p", hash: `${clock.nowMs}` };
      const limits = {
        requestsPerMinute: null,
        concurrency: null,
        profiles: ["judge"],
        defaultProfile: "judge",
      } as const;
      assert.equal(await store.keys.add({ ...key, ...limits }, "x", { liveKeys: 20, aDay: 100 }), "added");
    });
    assert.ok(asked.length > 25, `only ${asked.length} statements were recorded`);
    await waysOf(database, asked, LISTED);
    const judged = await recorded(t, database, async () => {
      for (const problemId of ["rare-1", "often"]) {
        const which = { problemId, max: 100, before: 1_000_000 };
        await store.judgements.search({ ...which, accountId });
        await store.judgementSearch.search({ ...which, accountIds: [accountId], verdict: "AC" });
      }
    });
    const ways = [...(await waysOf(database, judged, ["judgements"])).values()].flat();
    assert.ok(ways.length >= 3 && ways.every((way) => way.includes("judgements_problem")), ways.join());
  });
});

/** Tables with rows of all accounts for each minute. */
const HISTORY = ["history", "history_times", "history_keys", "history_deliveries", "history_load"];

onEachDatabase((temporaryStore) => {
  test("the history is read by time and account, regardless of the rows of other accounts", async (t) => {
    const { store, database } = await temporaryStore(t);
    const project = await addProject(store);
    const endpoint = await addEndpoint(store, project);
    const { accountId, keyId } = project.key;
    await within(database, async ({ db }) => {
      const fill = (into: string, values: string) =>
        sql`insert into ${sql.raw(into)} with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
          select i * 60000, 'others', ${sql.raw(values)} from n`.execute(db);
      await fill("history", "'c', 'AC', 1");
      await fill("history_times", "'run', 1, 1");
      await fill("history_keys", "'k', 'AC', 1");
      await fill("history_deliveries", "'e', 'failed', 1");
      await fill("history_load", "1, 1, 1");
      if (database.kind === "postgres") await sql`analyze`.execute(db);
    });
    const asked = await recorded(t, database, async () => {
      for (const accountIds of [null, [accountId]]) {
        const range = { fromMs: 1_190_000_000, untilMs: 1_200_000_000, bucketMs: 60_000, accountIds };
        await store.history.read(range);
        for (const by of ["language", "key", "project"] as const) await store.history.groups(range, by, 7);
        await store.history.readOf(range, { keyId });
        await store.history.readOf(range, { projectId: project.id });
        await store.history.deliveries(range);
        await store.history.deliveries(range, endpoint.id);
        await store.history.failing(range, 5);
        await store.history.load(range);
      }
    });
    const ways = await waysOf(database, asked, HISTORY);
    assert.ok(ways.size > 15, `only ${ways.size} statements were recorded`);
    for (const [text, way] of ways)
      if (text.includes("account_id in"))
        assert.ok(
          way.some((step) => step.includes("_account")),
          `${text}: ${way}`,
        );
  });
});

/** The operations on one submission and its deliveries, and the periodic ones. */
async function day({ store, clock }: Temporary, project: Awaited<ReturnType<typeof addProject>>): Promise<void> {
  const { submissions, deliveries } = store;
  const of = { ...project.key, projectId: project.id };
  assert.ok(await store.keys.findCaller("hash of key of p"));
  for (let at = 0; at < 3; at++) assert.equal(await store.quota.take(project.key.keyId, 1_000), 0);
  const idempotencyKey = `${clock.nowMs++}`;
  const accepted = await enqueue(store, of, { idempotencyKey, nowMs: clock.nowMs });
  assert.equal((await enqueue(store, of, { idempotencyKey, nowMs: clock.nowMs })).kind, "duplicate");
  assert.ok(accepted.kind === "enqueued");
  await enqueue(store, of, { nowMs: clock.nowMs });
  const claims = await submissions.claim("w", 60_000, 2);
  const [first, second] = claims;
  assert.ok(first && second);
  assert.ok(await submissions.renew(first.lease, 60_000));
  assert.ok(await submissions.requeue(second.lease));
  assert.ok(await submissions.finish(first.lease, DONE));
  const [held] = await submissions.claim("w", 60_000, 1);
  assert.ok(held && (await submissions.release(held.lease, false)));
  const [again] = await submissions.claim("w", 60_000, 1);
  assert.ok(again && (await submissions.finish(again.lease, DONE)));
  assert.ok(await submissions.get(first.submission.id, project.key.accountId));
  await submissions.sweep(1_000);
  assert.equal(await submissions.depth(), 0);
  for (const claim of await deliveries.claimDue({ leaseMs: 60_000, ...deliveryBudget(10) })) {
    assert.ok(await deliveries.message(claim));
    const attempt = { atMs: clock.nowMs, latencyMs: 1, status: 200, error: null, answer: null };
    assert.ok(await deliveries.recordAttempt(claim, attempt, { state: "delivered" }));
  }
  await deliveries.nextDueMs(clock.nowMs);
  // Pages of the dashboard, which are read often.
  const { accountId } = project.key;
  const [endpoint] = await store.endpoints.list();
  // These lists have no results: for results, the few attempts of this test would be scanned, because their table is small.
  await deliveries.list({ max: 51, endpointId: endpoint?.id, before: 1, accountIds: [accountId] });
  await deliveries.list({ max: 51, submissionId: "none", accountIds: [accountId] });
  await deliveries.recent([endpoint?.id ?? ""]);
  for (const accountIds of [null, [accountId]]) {
    await store.workers.running(accountIds);
  }
  await store.quota.forget();
  assert.equal(await store.retention.purge(0, 100), 0);
  await look({ store, clock }, project);
}

/** Reads of the dashboard, and the background work for them. */
async function look(
  { store, clock }: Pick<Temporary, "store" | "clock">,
  project: Awaited<ReturnType<typeof addProject>>,
): Promise<void> {
  const { accountId, keyId } = project.key;
  const accepted = await enqueue(store, project.key, { live: true, nowMs: clock.nowMs });
  const [claim] = await store.submissions.claim("w", 60_000, 1);
  assert.ok(accepted.kind === "enqueued" && claim?.live);
  const { id } = accepted.submission;
  const piece = { stream: "stdout", at: 0, bytes: Buffer.from("x") } as const;
  assert.ok(await store.live.append(claim.lease, 0, [piece]));
  const { fence } = claim.lease;
  assert.equal((await store.live.readAfter(id, null))?.pieces.length, 1);
  assert.equal((await store.live.readAfter(id, { fence, n: 0 }))?.pieces.length, 0);
  assert.ok(await store.submissions.finish(claim.lease, DONE));
  assert.ok(await store.history.count(256));
  await store.history.mergeAndExpire({ mergeBeforeMs: clock.nowMs - 60_000, deleteBeforeMs: 0 });
  const range = { fromMs: clock.nowMs - 60_000, untilMs: clock.nowMs, bucketMs: 60_000, accountIds: [accountId] };
  await store.history.read(range);
  await store.history.countDeliveries(256);
  await store.history.sample(1);
  await store.backlog([accountId]);
  for (const accountIds of [null, [accountId]]) {
    await store.history.marks(accountIds);
    await store.history.totalsMark(accountIds);
  }
  assert.ok(await store.submissionSearch.read(id, null));
  for (const accountIds of [null, [accountId]]) {
    const times = { sinceMs: clock.nowMs - 60_000, untilMs: clock.nowMs + 1 };
    const prefix = id.slice(0, 8);
    const filters = [
      { keyId, verdict: "AC" },
      times,
      { id },
      { prefix, keyId },
      { order: "oldest" as const, cause: "oom_kill" },
    ];
    for (const one of filters) await store.submissionSearch.search({ accountIds, max: 5, ...one });
    await store.submissionSearch.search({ accountIds, max: 5, before: 1_000, verdict: "MLE" });
    await store.submissionSearch.count({ accountIds, max: 1, verdict: "MLE", keyId });
  }
}

/** Adds a delivery for each record without one: the deliveries of an endpoint over the retention time. */
async function fillDeliveries(database: DatabaseLocation): Promise<void> {
  await within(database, async ({ db }) => {
    await sql`insert into deliveries (id, endpoint_id, submission_seq, message_id, kind, state, created_at, ended_at)
      select 'd' || seq, (select min(id) from endpoints), seq, id, 'result', 'delivered', created_at, completed_at
      from submissions where not exists (select 1 from deliveries where submission_seq = seq)`.execute(db);
    if (database.kind === "postgres") await sql`analyze`.execute(db);
  });
}

/** Compares the server's own counts of sequential scans. @returns the big tables that were scanned. */
async function readThrough(database: DatabaseLocation, work: () => Promise<void>): Promise<string[]> {
  if (database.kind === "sqlite") return [];
  const scans = () =>
    within(database, async ({ db }) => {
      const { rows } = await sql<{ relname: string; seq_scan: number }>`
        select relname, seq_scan from pg_stat_user_tables`.execute(db);
      return new Map(rows.map(({ relname, seq_scan }) => [relname, Number(seq_scan)]));
    });
  await settled();
  const before = await scans();
  await work();
  await settled();
  const after = await scans();
  return BIG.filter((table) => after.get(table) !== before.get(table));
}

/** The server's processes report their counts at most once a second. */
function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1_500));
}

/** Records every statement that the driver receives during `work`. */
async function recorded(t: TestContext, { kind }: DatabaseLocation, work: () => Promise<void>): Promise<Asked[]> {
  const asked: Asked[] = [];
  if (kind === "postgres") {
    const { query } = pg.Client.prototype;
    t.mock.method(pg.Client.prototype, "query", function (this: pg.Client, ...args: Parameters<typeof query>) {
      const [config] = args as unknown as [{ text: string; values?: unknown[] } | string];
      if (typeof config === "object") asked.push({ text: config.text, values: config.values ?? [] });
      return Reflect.apply(query, this, args);
    });
  } else {
    const { ask } = SqliteLink.prototype;
    t.mock.method(SqliteLink.prototype, "ask", function (this: SqliteLink, request: Request) {
      if (request.kind === "statement") asked.push({ text: request.text, values: request.parameters });
      return Reflect.apply(ask, this, [request]);
    });
    // The calls run one by one in this thread, because statements inside the store's thread cannot be recorded.
    t.mock.method(SqliteLinks.prototype, "performAll", function (this: SqliteLinks, calls: readonly OperationCall[]) {
      const db = new Kysely<Schema>({ dialect: sqliteDialect(this, true) });
      const locks = { lock: async () => {} };
      const pieces = calls.map((call) => (trx: Transaction<Schema>) => perform(OPERATIONS, trx, locks, call));
      return db.transaction().execute((trx) => runPieces(trx, pieces));
    });
  }
  await work();
  t.mock.restoreAll();
  return asked.filter(({ text }) => /^\s*(select|insert|update|delete|with)\b/i.test(text));
}

/** @returns the indexes by which each statement finds rows of big tables. @throws if a statement scans such a table. */
async function waysOf(database: DatabaseLocation, asked: readonly Asked[], big = BIG): Promise<Map<string, string[]>> {
  const ways = new Map<string, string[]>();
  for (const { text, values } of asked) {
    if (ways.has(text)) continue;
    const way =
      database.kind === "postgres"
        ? await planOf(database.url, text, values, big)
        : planIn(database.path, text, values, big);
    ways.set(text, [...new Set(way)].sort());
  }
  for (const [text, way] of ways) assert.ok(!way.some((step) => step.endsWith(" whole")), `${text}: ${way}`);
  return ways;
}

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly Plans?: readonly PlanNode[];
}

async function planOf(
  url: string,
  text: string,
  values: readonly unknown[],
  big: readonly string[],
): Promise<string[]> {
  // The options of the store's connections: without them, the plan for a small table differs from theirs.
  const client = new pg.Client({ connectionString: url, options: BY_INDEX });
  await client.connect();
  try {
    const { rows } = await client.query(`explain (format json) ${text}`, [...values]);
    return steps(rows[0]["QUERY PLAN"][0].Plan, big);
  } finally {
    await client.end();
  }
}

function steps(node: PlanNode, big: readonly string[]): string[] {
  const { "Node Type": type, "Relation Name": table, "Index Name": index, Plans = [] } = node;
  const own =
    type === "Seq Scan" && big.includes(table ?? "")
      ? [`${table} whole`]
      : index && big.some((name) => index.startsWith(name))
        ? [index]
        : [];
  return [...own, ...Plans.flatMap((plan) => steps(plan, big))];
}

function planIn(path: string, text: string, values: readonly unknown[], big: readonly string[]): string[] {
  const database = new BetterSqlite(path, { readonly: true });
  try {
    const rows = database.prepare(`explain query plan ${text}`).all(...values) as { detail: string }[];
    return rows.flatMap(({ detail }) => {
      const [, how, table = "", index] = /^(SCAN|SEARCH) (\w+)(?:.* USING (.*))?/.exec(detail) ?? [];
      if (!big.includes(table)) return [];
      // A scanned index is as long as its table, unless it is a partial index of the few active rows.
      const whole =
        how === "SCAN" && !/INDEX (\w+_(pending|running|due|leased|waiting|tests|newest))\b/.test(index ?? "");
      return [whole ? `${table} whole` : `${table} ${index}`];
    });
  } finally {
    database.close();
  }
}
