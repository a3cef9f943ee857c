import assert from "node:assert/strict";
import { Agent } from "node:https";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "pg";
import {
  assay,
  dataDirectory,
  NOBODY,
  type Serving,
  type Started,
  serve,
  worker,
} from "../../support/cli/processes.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { send } from "../../support/programs/product.ts";
import { postgresServer } from "../../support/store/temporary.ts";

/** How many programs are submitted. */
const SUBMISSION_COUNT = SKIPS_LONG ? 150 : 240;
const SENDERS = 16;
const LEASE_MS = 2_000;
const CONCURRENCY: Readonly<Record<string, number>> = { narrow: 2, wide: 3 };
/**
 * The submissions that each worker may run at the same time. After the kills, two workers are left, which can run 6: more than the 5
 * of both keys together, so that the concurrency of the keys is the limit.
 */
const SLOTS = 3;

/** The database records every status change of a submission, and how many submissions of its key are running then. */
const WITNESS = `
  create table witness (id text not null, became text not null, key_id text not null, running integer not null);
  create function witness() returns trigger language plpgsql as $$
    begin
      insert into witness select new.id, new.status, new.key_id, count(*)
        from submissions where key_id = new.key_id and status = 'running';
      return null;
    end $$;
  create trigger witness after update of status on submissions
    for each row when (old.status is distinct from new.status) execute function witness();`;

/** Two services and three workers on one PostgreSQL database, with real processes and boxes. */
interface Site {
  readonly pool: Pool;
  readonly services: Serving[];
  readonly workers: Started[];
  readonly keys: Readonly<Record<string, string>>;
  readonly addWorker: () => Promise<void>;
}

async function site(t: TestContext): Promise<Site> {
  const server = await postgresServer();
  const url = server.url(await server.createDatabase());
  const launchers: Launcher[] = [];
  t.after(async () => {
    for (const launcher of launchers) assert.equal(await launcher.stop(), 0, launcher.stderr());
  });
  process.env.ASSAY_LEASE_MS = String(LEASE_MS);
  process.env.ASSAY_DATABASE = url;
  t.after(() => {
    delete process.env.ASSAY_LEASE_MS;
    delete process.env.ASSAY_DATABASE;
  });
  const workers: Started[] = [];
  const addWorker = async () => {
    const launcher = await startLauncher({ slots: SLOTS + 1, clientUid: NOBODY });
    launchers.push(launcher);
    const socket = ["--launcher-socket", launcher.socket, "--workers", String(SLOTS)];
    workers.push(await worker(t, dataDirectory(t), ...socket));
  };
  // All start at once: the first of them creates the schema.
  const services: Serving[] = [];
  const addService = async () => {
    services.push(await serve(t, dataDirectory(t), "--no-worker"));
  };
  await Promise.all([addService(), addService(), addWorker(), addWorker(), addWorker()]);
  const data = dataDirectory(t);
  const keys: Record<string, string> = {};
  for (const [name, concurrency] of Object.entries(CONCURRENCY)) {
    const limits = ["--rpm", "1000000", "--concurrency", String(concurrency)];
    keys[name] = (await assay("keys", "create", "--name", name, ...limits, "--data", data)).stdout.trim();
  }
  const pool = new Pool({ connectionString: url, max: 2 });
  pool.on("error", () => {});
  t.after(() => pool.end());
  await pool.query(WITNESS);
  return { pool, services, workers, keys, addWorker };
}

const idempotencyKey = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;

test("when services and workers are killed, no submission is lost or duplicated, and limits hold", {
  timeout: 180_000,
}, async (t) => {
  const { pool, services, workers, keys, addWorker } = await site(t);
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false, maxSockets: 64 });
  t.after(() => agent.destroy());
  const started = performance.now();

  /** Sends the request to one service after the other, beginning with `first`, until one accepts it. @returns the submission's id. */
  async function submit(n: number, first: number, wait: boolean): Promise<string> {
    const key = keys[n % 2 === 0 ? "narrow" : "wide"] ?? "";
    const body = { language: "python", code: `print(${n})` };
    for (let tries = first; ; tries++) {
      const { port } = services[tries % services.length] as Serving;
      try {
        const headers = { "idempotency-key": idempotencyKey(n) };
        const path = `/api/submit${wait ? "?wait=true" : ""}`;
        const { status, json } = await send(agent, port, key, "POST", path, body, headers);
        const { id } = json as { id?: string };
        if ([200, 202, 408].includes(status) && id) return id;
        assert.equal(status, 503, JSON.stringify(json));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === undefined) throw error; // not a network error
      }
      await sleep(50);
    }
  }

  const ids: string[][] = [];
  let next = 0;
  const sender = async () => {
    for (let n = next++; n < SUBMISSION_COUNT; n = next++) {
      // Every third submission goes to both services at once.
      const copies = n % 3 === 0 ? [0, 1] : [n % 2];
      ids[n] = await Promise.all(copies.map((at) => submit(n, at, n % 5 === 0)));
    }
  };

  const kills = async () => {
    while (next < SUBMISSION_COUNT / 5) await sleep(10);
    workers[0]?.process.kill("SIGKILL");
    while (next < (2 * SUBMISSION_COUNT) / 5) await sleep(10);
    services[0]?.process.kill("SIGKILL");
    while (next < (3 * SUBMISSION_COUNT) / 5) await sleep(10);
    workers[1]?.process.kill("SIGKILL");
    await addWorker();
  };

  await Promise.all([...Array.from({ length: SENDERS }, sender), kills()]);
  const countUnfinished = async () =>
    (await pool.query("select count(*)::integer as n from submissions where status in ('pending', 'running')")).rows[0]
      .n;
  while ((await countUnfinished()) > 0) await sleep(50);
  t.diagnostic(`${SUBMISSION_COUNT} in ${((performance.now() - started) / 1000).toFixed(1)} s`);

  // One submission for each idempotency key, however many requests were sent.
  assert.deepEqual(
    ids.map((same) => new Set(same).size),
    ids.map(() => 1),
  );
  const distinct = new Set(ids.flat());
  assert.equal(distinct.size, SUBMISSION_COUNT);
  const { rows: all } = await pool.query("select id, status, attempts from submissions");
  assert.deepEqual(new Set(all.map(({ id }) => id)), distinct);

  // Each completed once, with its own output. Only submissions on a killed worker were run again.
  const survivor = services[1] as Serving;
  for (const [n, [id]] of ids.entries()) {
    const key = keys[n % 2 === 0 ? "narrow" : "wide"] ?? "";
    const { status, json } = await send(agent, survivor.port, key, "GET", `/api/result/${id}`);
    assert.equal(status, 200);
    const record = json as { status: string; result: { verdict: string }; output: { stdout: string } };
    assert.deepEqual([record.status, record.result.verdict, record.output.stdout], ["completed", "AC", `${n}\n`]);
  }
  const { rows: seen } = await pool.query(
    "select id, became, count(*)::integer as times from witness group by id, became",
  );
  const times = (id: string, became: string) => seen.find((row) => row.id === id && row.became === became)?.times ?? 0;
  for (const { id, attempts } of all) {
    assert.equal(times(id, "completed"), 1, id);
    // A claim that was given back before its run began is no attempt.
    assert.ok(times(id, "running") >= attempts, id);
    assert.equal(times(id, "pending"), times(id, "running") - 1, id);
  }
  const { rows: peaks } = await pool.query(
    "select name, max(running) as most from witness join api_keys on api_keys.id = key_id group by name",
  );
  const most = Object.fromEntries(peaks.map((row) => [row.name, row.most]));
  const again = all.filter(({ attempts }) => attempts > 1).length;
  t.diagnostic(`${again} were run again; most running at once: ${JSON.stringify(most)}`);
  const mostClaimed = Object.values(CONCURRENCY).reduce((sum, one) => sum + one);
  assert.ok(
    again <= 2 * mostClaimed,
    `${again} were run again, but each killed worker had claimed at most ${mostClaimed}`,
  );
  assert.deepEqual(most, CONCURRENCY);

  // The remaining processes drain and exit with 0.
  const left = [survivor, ...workers.slice(2)];
  for (const one of left) one.process.kill("SIGTERM");
  for (const one of left) assert.equal(await one.ended, 0, one.output());
});
