import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext } from "node:test";
import type { DatabaseLocation } from "../../../src/domain/database.ts";
import type { ProfileName } from "../../../src/domain/limits.ts";
import { newSubmission, programOf, requestHash, type SubmitRequest } from "../../../src/domain/submission.ts";
import { openStore } from "../../../src/store/open.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Enqueued, Swept } from "../../../src/store/submissions/types.ts";
import { Databases, PostgresServer } from "./postgres-server.ts";
import { SHARED } from "./shared.ts";

/** Clocks that a test advances: the wall clock and the monotonic clock. */
export interface Clock {
  nowMs: number;
  steadyMs: number;
}

export const START_MS = Date.UTC(2031, 0, 2, 3, 4, 5, 678);

export interface Temporary {
  readonly store: Store;
  readonly clock: Clock;
  readonly database: DatabaseLocation;
  /** Opens the same database again, like another process, with the same clock; closed with the first store. */
  readonly another: () => Promise<Store>;
  readonly dispose: () => Promise<void>;
}

/** Opens a store of one engine; closed and removed after the test, or by `dispose`. */
export type OpenTemporary = (t?: TestContext) => Promise<Temporary>;

/** A store in a new SQLite file; closed and removed after the test, or by `dispose`. */
export const temporaryStore: OpenTemporary = async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "assay-store-"));
  const database: DatabaseLocation = { kind: "sqlite", path: join(directory, "assay.sqlite") };
  await writeFile(database.path, await migratedFile());
  return temporary(t, database, () => rm(directory, { recursive: true }));
};

/** A store in a new database on a PostgreSQL server. */
export const temporaryPostgres: OpenTemporary = async (t) => {
  const server = await postgresServer();
  const name = await server.createDatabase(await migratedTemplate());
  return temporary(t, { kind: "postgres", url: server.url(name) }, () => server.dropDatabase(name));
};

/** An empty database without a schema; removed after the test. */
export async function emptyDatabase(t: TestContext, kind: DatabaseLocation["kind"]): Promise<DatabaseLocation> {
  if (kind === "postgres") {
    const running = await postgresServer();
    return { kind, url: running.url(await running.createDatabase()) };
  }
  const directory = await mkdtemp(join(tmpdir(), "assay-empty-"));
  t.after(() => rm(directory, { recursive: true }));
  return { kind, path: join(directory, "assay.sqlite") };
}

/** The PostgreSQL server of this run of tests, or else of this test process, started on first use. */
export function postgresServer(): Promise<Databases> {
  const shared = process.env[SHARED.server];
  server ??= shared ? Promise.resolve(new Databases(shared)) : PostgresServer.start();
  return server;
}

/** A template database with only the schema; copying it is faster than migrating each database. */
export function migratedTemplate(): Promise<string> {
  const shared = process.env[SHARED.template];
  template ??= shared
    ? Promise.resolve(shared)
    : (async () => {
        const running = await postgresServer();
        const name = await running.createDatabase();
        await (await openStore({ database: { kind: "postgres", url: running.url(name) } })).close();
        return name;
      })();
  return template;
}

/** The content of a SQLite file with only the schema. */
export function migratedFile(): Promise<Buffer> {
  const shared = process.env[SHARED.file];
  file ??= shared
    ? readFile(shared)
    : (async () => {
        const directory = await mkdtemp(join(tmpdir(), "assay-store-"));
        const path = join(directory, "assay.sqlite");
        await (await openStore({ database: { kind: "sqlite", path } })).close();
        const content = await readFile(path);
        await rm(directory, { recursive: true });
        return content;
      })();
  return file;
}

let file: Promise<Buffer> | undefined;
let server: Promise<Databases> | undefined;
let template: Promise<string> | undefined;

async function temporary(
  t: TestContext | undefined,
  database: DatabaseLocation,
  remove: () => Promise<void>,
): Promise<Temporary> {
  const clock: Clock = { nowMs: START_MS, steadyMs: 0 };
  const others: Store[] = [];
  const open = () => openStore({ database, now: () => clock.nowMs, steady: () => clock.steadyMs });
  const store = await open();
  const another = async () => {
    const other = await open();
    others.push(other);
    return other;
  };
  const dispose = async () => {
    for (const one of [store, ...others]) await one.close();
    await remove();
  };
  t?.after(dispose);
  return { store, clock, database, another, dispose };
}

/** Declares the same tests for each engine of the store, or only for the one that the variable ASSAY_TEST_DATABASE of a variant names. */
export function onEachDatabase(suite: (temporaryStore: OpenTemporary) => void): void {
  const only = process.env.ASSAY_TEST_DATABASE;
  if (only !== "postgres") describe("on SQLite", () => suite(temporaryStore));
  if (only !== "sqlite") describe("on PostgreSQL", () => suite(temporaryPostgres));
}

/** Adds a key, by default with the tier's limits and in an account of its name. @returns the ids. */
export async function addKey(
  store: Store,
  name: string,
  options: {
    account?: string;
    concurrency?: number;
    requestsPerMinute?: number;
    profiles?: ProfileName[];
    projectId?: string;
  } = {},
): Promise<{ keyId: string; accountId: string; hash: string }> {
  const account = await store.accounts.ensure(options.account ?? name, "beta", "test");
  const profiles = options.profiles ?? ["judge"];
  const hash = `hash of ${name}`;
  await store.keys.add(
    {
      id: name,
      accountId: account.id,
      projectId: options.projectId ?? null,
      name,
      prefix: "assay_live_000000",
      hash,
      requestsPerMinute: options.requestsPerMinute ?? null,
      concurrency: options.concurrency ?? null,
      profiles,
      defaultProfile: profiles[0] ?? "judge",
    },
    "test",
  );
  return { keyId: name, accountId: account.id, hash };
}

/** Enqueues one submission of a key. */
export async function enqueue(
  store: Store,
  key: { keyId: string; accountId: string; projectId?: string | null },
  options: Partial<SubmitRequest> & {
    idempotencyKey?: string;
    maxPending?: number;
    onlyKnown?: boolean;
    live?: boolean;
    takesInput?: boolean;
    nowMs?: number;
  } = {},
): Promise<Enqueued> {
  const request: SubmitRequest = {
    language: options.language ?? "python",
    profile: options.profile ?? "judge",
    code: options.code ?? "print(1)",
    stdin: options.stdin ?? "",
    ...(options.options && { options: options.options }),
    ...(options.network && { network: options.network }),
  };
  const submission = newSubmission(
    request,
    {
      projectId: null,
      ...key,
      requestsPerMinute: 60,
      concurrency: 10,
      executions: 16,
      profiles: ["judge", "agent"],
      defaultProfile: "judge",
    },
    options.nowMs ?? START_MS,
  );
  return store.submissions.enqueue({
    submission,
    program: programOf(request),
    idempotency:
      options.idempotencyKey === undefined ? null : { key: options.idempotencyKey, requestHash: requestHash(request) },
    maxPending: options.maxPending ?? 1_000,
    onlyKnown: options.onlyKnown ?? false,
    live: options.live ?? false,
    takesInput: options.takesInput ?? false,
    ...(options.network && { network: options.network }),
  });
}

/** Sweeps, advances the clock by a lease and sweeps again, which takes every lease that was not renewed. */
export async function sweepLater(store: Store, clock: Clock, leaseMs: number): Promise<Swept> {
  await store.submissions.sweep(leaseMs);
  clock.steadyMs += leaseMs;
  return await store.submissions.sweep(leaseMs);
}
