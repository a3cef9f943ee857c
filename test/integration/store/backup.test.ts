import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import type { DatabaseLocation } from "../../../src/domain/database.ts";
import { parseNetworkPolicy } from "../../../src/domain/egress/policy.ts";
import type { ForeignRequest } from "../../../src/domain/foreign-api.ts";
import { internalError } from "../../../src/domain/outcome.ts";
import type { Progress } from "../../../src/domain/progress.ts";
import { newExecution } from "../../../src/domain/sandboxes/execution.ts";
import { newSandbox } from "../../../src/domain/sandboxes/sandbox.ts";
import { StoreError } from "../../../src/store/database/errors.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { openDatabase, openStore, restoreStore } from "../../../src/store/open.ts";
import { BACKED_UP } from "../../../src/store/schema/backup-format.ts";
import { migrateTo } from "../../../src/store/schema/migrate.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Lease } from "../../../src/store/submissions/types.ts";
import { callerOf, sandboxRequest, shellRequest } from "../../support/sandboxes/caller.ts";
import { addJudgement, newVersion } from "../../support/store/judgements.ts";
import { SAMPLES } from "../../support/store/samples.ts";
import { addKey, emptyDatabase, enqueue, onEachDatabase } from "../../support/store/temporary.ts";
import {
  ACTOR,
  addEndpoint,
  addProject,
  DONE,
  deliveryBudget,
  endOne,
  submit,
} from "../../support/webhooks/project.ts";

/** Tables of transient state or credentials, which backups omit. */
const NOT_KEPT = [
  "known_places",
  "sign_in_attempts",
  "sends",
  "quota",
  "workers",
  "links",
  "schema_version",
  "live_output",
  "sessions",
  "invitations",
  "snapshots",
];

async function linesOf(store: Store): Promise<string[]> {
  const lines: string[] = [];
  const rows = await store.backup(async (line) => void lines.push(line));
  assert.equal(lines.filter((line) => line.startsWith("[")).length, rows);
  return lines;
}

async function* stream(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

/** A sandbox that has ended, with an execution that wrote bytes. */
async function addSandbox(store: Store, key: { readonly keyId: string; readonly accountId: string }): Promise<void> {
  const network = parseNetworkPolicy({ allow: [{ host: "a.example.org", ports: [443] }] });
  const { accountId } = key;
  await store.egress.setBound(
    { accountId, projectId: null },
    { policy: network, upPerDay: 9, downPerDay: null },
    "test",
  );
  const sandbox = newSandbox(sandboxRequest({ metadata: { a: "\u{1f600}" }, network }), callerOf(key), "w", 1);
  await store.sandboxes.create({ sandbox, idempotency: null, leaseUntilMs: 2, onlyKnown: false });
  const execution = newExecution(sandbox, 1, shellRequest("x"), 3);
  await store.sandboxes.begin(execution, "w");
  const outcome = {
    ...DONE,
    output: { stdout: Buffer.from([0, 255]), stderr: Buffer.from(""), integrity: "complete" },
  } as const;
  const ended = { ...execution, status: "completed", completedAtMs: 4, outcome } as const;
  await store.sandboxes.endExecution({ execution: ended, drop: [] });
  const usage = [{ atMs: 3, cpuUsec: 1_000, memoryBytes: 4_096, processes: 1, diskBytes: 2 }];
  await store.egress.lease({ sandboxId: sandbox.id, worker: "w", direction: "up", wanted: 3 });
  const sums = { decision: "allowed", connections: 1, bytes_up: 3, bytes_down: 0 } as const;
  const hosts = [{ name: "a.example.org", ...sums }];
  await store.egress.addHosts({ accountId, projectId: null, hosts });
  const totals = { policy_version: 1, bytes_up: 3, bytes_down: 0, budget_left: { up: 0, down: 0 }, denied: 0 };
  const record = { ...totals, dns: { answered: 1, refused: 0 }, complete: true };
  const lists = { connections: [], more: [], refused_names: [] };
  const egress = { ...record, hosts, unattributed: { ...record, ...lists, source: "sandbox" as const } };
  await store.sandboxes.end(sandbox.id, "w", { reason: "client", endedAtMs: 5, evidence: null, usage, egress });
}

/** A submission with a network that has ended. */
async function addNetworked(store: Store, key: { readonly keyId: string; readonly accountId: string }): Promise<void> {
  const network = parseNetworkPolicy({ allow: [{ host: "a.example.org", ports: [443] }] });
  const added = await enqueue(store, key, { profile: "agent", network });
  assert.ok("submission" in added);
  const [claim] = await store.submissions.claim("w", 1_000, 1, 0, [], true);
  await store.submissions.storeEgress(added.submission.id, {
    policy_version: 1,
    bytes_up: 1,
    bytes_down: 2,
    budget_left: { up: 3, down: 4 },
    connections: [],
    more: [],
    denied: 0,
    refused_names: [{ name: "nul \0 and \u{1f600}", queries: 1 }],
    dns: { answered: 0, refused: 1 },
    complete: true,
    source: "sandbox",
  });
  assert.ok(await store.submissions.finish(claim?.lease as Lease, DONE, null));
}

/** Fills every table, with non-text bytes, a rotated key, and work in every state. */
async function fill(store: Store): Promise<{ readonly account: string; readonly running: string }> {
  const project = await addProject(store, "shop");
  const endpoint = await addEndpoint(store, project);
  await store.endpoints.setSecret(endpoint.id, () => Buffer.from([1, 0]), { overlapMs: 1_000, mostFormer: 1 }, ACTOR);
  await store.endpoints.setActive((await addEndpoint(store, project)).id, false, ACTOR);
  const old = await addKey(store, "old", { account: "shop" });
  await store.keys.rotate(
    old.keyId,
    { id: "0-sorts-before-it", prefix: "assay_live_zz", hash: "f".repeat(64) },
    0,
    ACTOR,
  );
  for (let n = 0; n < 70; n++) await endOne(store, project);
  await endOne(store, project, { ...DONE, samples: SAMPLES });
  assert.equal(await store.history.count(10), 10);
  await endOne(store, project, internalError("nul \0 and \u{1f600}"));
  const foreign: ForeignRequest = {
    api: "judge0",
    category: 71,
    data: "{}",
    reference: Buffer.from([0, 255]),
    attachment: Buffer.from("PK"),
    callback: { url: "https://receiver.example/done", endpointId: endpoint.id },
  };
  await submit(store, project, "judge", null, foreign);
  const [theirs] = await store.submissions.claim("w", 1_000);
  const compileOutput = Buffer.from([0, 254]);
  await store.submissions.finish(theirs?.lease as Lease, { ...DONE, foreignNote: 3, compileOutput });
  for (const claim of await store.deliveries.claimDue({ leaseMs: 1_000, ...deliveryBudget(3) })) {
    const attempt = { atMs: 1, latencyMs: 2, status: 500, error: null, answer: Buffer.from([0, 255, 254]) };
    await store.deliveries.recordAttempt(claim, attempt, { state: "failed" });
  }
  assert.equal(await store.history.countDeliveries(1), 1);
  await store.history.sample(2);
  await store.deliveries.addTest(endpoint.id, { messageId: "m", body: Buffer.from([1, 0, 2]), leaseMs: 1 }, ACTOR);
  await addJudgement(store, project.key, { answers: ["\0"] });
  const [run] = await store.submissions.claim("w", 1_000);
  const judged = { judgementSeq: run?.test?.judgementSeq ?? 0, checked: null };
  await store.submissions.finish(run?.lease as Lease, DONE, judged);
  const { accountId } = project.key;
  const versionSeq = await store.judgements.putVersion(newVersion(accountId, ["1"]), async () => {});
  const about = { title: "Sum", tests: 1, bytes: 2, cpuSecs: 0.5, memoryBytes: null };
  await store.problems.put({ accountId, name: "sum", versionSeq, ...about }, null, ACTOR);
  await addNetworked(store, project.key);
  await addSandbox(store, project.key);
  const running = await submit(store, project);
  await store.submissions.claim("w", 1_000);
  await submit(store, project);
  const [between] = await store.submissions.claim("w", 1_000);
  await store.submissions.yieldSlot(between?.lease as Lease, PROGRESS);
  const talk = await enqueue(store, project.key, { live: true, takesInput: true, stdin: "first " });
  assert.ok("submission" in talk);
  await store.liveInput.give(talk.submission.id, accountId, [{ kind: "bytes", bytes: Buffer.from([0, 255]) }]);
  await store.invitations.add(
    { id: "i", hash: "h", lastsMs: 1_000 },
    { kind: "invite", email: "ada@example.com", accountId: project.key.accountId, administrator: false },
    ACTOR,
  );
  await store.invitations.accept("h", { email: "", name: "Ada", password: "hash" });
  return { account: project.key.accountId, running };
}

/** The progress of a submission that has given up its slot between two runs. */
const PROGRESS: Progress = {
  runs: 1,
  measured: { runs: 1, cpuUsec: 2, memoryPeakBytes: 3 },
  nextPass: { input: Buffer.from([0, 255]), feedback: [{ name: "feedback/a", data: Buffer.from("b") }] },
};

/** All lines except the first, which has the time. */
const body = (lines: readonly string[]) => lines.slice(1);

onEachDatabase((temporaryStore) => {
  for (const kind of ["sqlite", "postgres"] as const) {
    test(`a backup restores completely into ${kind}, and the restored store works`, async (t) => {
      const { store, clock } = await temporaryStore(t);
      const { account, running } = await fill(store);
      const lines = await linesOf(store);
      const tables = lines.flatMap((line) => /^\{"table":"(\w+)"/.exec(line)?.[1] ?? []);
      assert.deepEqual(
        tables,
        BACKED_UP.map(({ name }) => name),
      );
      const database = await emptyDatabase(t, kind);
      assert.equal(
        await restoreStore({ database }, stream(lines)),
        lines.filter((line) => line.startsWith("[")).length,
      );
      const restored = await openStore({ database, now: () => clock.nowMs });
      try {
        assert.deepEqual(body(await linesOf(restored)), body(lines));
        // The worker that held the lease does not exist here.
        assert.deepEqual((await restored.submissions.sweepAll()).requeued, [running]);
        const claims = await restored.submissions.claim("w", 1_000, 3);
        assert.deepEqual(
          claims.map(({ progress }) => progress),
          [null, PROGRESS, null],
        );
        const [talk] = claims.filter(({ takesInput }) => takesInput);
        assert.ok(talk);
        assert.equal(String(talk.program.stdin), "first ");
        assert.deepEqual(await restored.liveInput.read(talk.lease, 0), [
          [1, { kind: "bytes", bytes: Buffer.from([0, 255]) }],
        ]);
        const later = await addProject(restored, "later");
        await endOne(restored, later);
        assert.equal((await restored.submissions.get(running, account))?.status, "running");
      } finally {
        await restored.close();
      }
    });
  }

  test("a backup has every table except those of transient state or credentials", async (t) => {
    const { database } = await temporaryStore(t);
    const names = await tableNames(database);
    assert.deepEqual(names.sort(), [...BACKED_UP.map(({ name }) => name), ...NOT_KEPT].sort());
  });

  test("a backup is a consistent snapshot and does not block writers", async (t) => {
    const { store, another } = await temporaryStore(t);
    await addProject(store, "before");
    const other = await another();
    const lines: string[] = [];
    await store.backup(async (line) => {
      lines.push(line);
      if (lines.length === 1) await addProject(other, "meanwhile");
    });
    assert.ok(lines.join("").includes('"before"'));
    assert.ok(!lines.join("").includes('"meanwhile"'));
    assert.equal((await other.accounts.list()).length, 2);
  });

  test("a damaged, truncated or newer backup is rejected and leaves the database empty", async (t) => {
    const { store } = await temporaryStore(t);
    await fill(store);
    const lines = await linesOf(store);
    const [head = "", ...rest] = lines;
    const damages: [string, readonly string[], RegExp][] = [
      ["nothing at all", [], /not a backup of Assay/],
      ["something else", ["{}\n"], /not a backup of Assay/],
      ["no JSON", ["PGDMP\n"], /not JSON/],
      ["a newer schema", [head.replace(/"schema":\d+/, '"schema":999'), ...rest], /newer release/],
      ["a newer format", [head.replace('"format":1', '"format":2'), ...rest], /newer release/],
      ["cut off", lines.slice(0, -1), /incomplete/],
      ["a row less", lines.toSpliced(-2, 1), /incomplete/],
      ["a row that is too short", lines.toSpliced(-2, 1, "[1]\n"), /too short/],
      ["another table", lines.toSpliced(1, 1, '{"table":"pg_authid","columns":["a"]}\n'), /no table pg_authid/],
      ["another column", lines.toSpliced(1, 1, '{"table":"tiers","columns":["a\\"b"]}\n'), /no table tiers with these/],
      ["a row before its table", lines.toSpliced(1, 1), /before its table/],
      ["a line of another kind", lines.toSpliced(3, 0, "null\n"), /unknown kind/],
    ];
    const database = await emptyDatabase(t, "sqlite");
    for (const [what, damaged, message] of damages) {
      await assert.rejects(
        restoreStore({ database }, stream(damaged)),
        (error) => error instanceof StoreError && message.test(error.message),
        what,
      );
      assert.deepEqual(await tableNames(database), [], what);
    }
    await restoreStore({ database }, stream(lines));
  });

  test("a restore does not touch a database that has data", async (t) => {
    const { store, database } = await temporaryStore(t);
    const lines = await linesOf(store);
    await restoreStore({ database }, stream(lines)); // it has only its tiers
    await addProject(store, "mine");
    const before = await linesOf(store);
    await assert.rejects(restoreStore({ database }, stream(lines)), /there is something in the database already/);
    assert.deepEqual(body(await linesOf(store)), body(before));
  });
});

test("a backup of an older release is restored with its schema and then migrated", async (t) => {
  const old = await emptyDatabase(t, "sqlite");
  assert.ok(old.kind === "sqlite");
  const engine = await openSqlite(old.path, null);
  await engine.db.transaction().execute(async (trx) => {
    await migrateTo(trx, engine.abilities, 1);
    await sql`insert into accounts (id, name, tier, created_at) values ('a', 'old', 'beta', 1)`.execute(trx);
  });
  const head = { assay: "backup", format: 1, schema: 1, at: "2030-01-01T00:00:00.000Z" };
  const { rows } = await sql<Record<string, string | number>>`select * from accounts`.execute(engine.db);
  await engine.db.destroy();
  const lines = [
    head,
    { table: "tiers", columns: ["name", "requests_per_minute", "concurrency"] },
    ["beta", 60, 10],
    { table: "accounts", columns: Object.keys(rows[0] ?? {}) },
    Object.values(rows[0] ?? {}),
    { end: true, rows: 2 },
  ].map((line) => `${JSON.stringify(line)}\n`);
  const database = await emptyDatabase(t, "postgres");
  await restoreStore({ database }, stream(lines));
  const store = await openStore({ database });
  t.after(() => store.close());
  await addProject(store, "old");
  assert.deepEqual(
    (await store.accounts.list()).map(({ name }) => name),
    ["old"],
  );
});

async function tableNames(database: DatabaseLocation): Promise<string[]> {
  const { db } = await openDatabase(database);
  try {
    const names =
      database.kind === "sqlite"
        ? sql<{ name: string }>`select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'`
        : sql<{ name: string }>`select table_name as name from information_schema.tables
            where table_schema = 'public' and table_type = 'BASE TABLE'`;
    return (await names.execute(db)).rows.map(({ name }) => name);
  } finally {
    await db.destroy();
  }
}
