import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import { percentile } from "../../support/bounds/measured.ts";
import { startHttp } from "../../support/http/running.ts";
import { diskLab } from "../../support/store/slow-disk.ts";
import { temporaryStore } from "../../support/store/temporary.ts";

/**
 * Bound for the event loop and for requests without a write. Flushes and locks in these tests last several times as
 * long.
 */
const MOST_MS = 100;

test("while another process writes, reads get a response at once and writes wait", async (t) => {
  const temporary = await temporaryStore();
  t.after(temporary.dispose);
  const { database, store } = temporary;
  assert.ok(database.kind === "sqlite");
  const { ask, submit, key } = await startHttp(t, { open: async () => temporary });
  await key();
  const { json } = await submit();
  const paths = ["/docs", "/api/health", "/api/health/ready", "/api/languages"];
  for (const path of paths) await ask({ path, key: null });
  const other = new Database(database.path);
  t.after(() => other.close());
  other.exec("begin immediate");
  const [{ account_id: accountId }] = other.prepare("select account_id from submissions").all() as [
    { account_id: string },
  ];
  let done = false;
  const waiting = submit().finally(() => {
    done = true;
  });
  await sleep(50);
  for (let round = 0; round < 5; round++) {
    for (const path of paths) assert.ok((await timed(() => ask({ path, key: null }))) < MOST_MS, path);
    assert.ok((await timed(() => store.submissions.get(json.id, accountId))) < MOST_MS, "the record");
    await sleep(100);
  }
  assert.equal(done, false);
  other.exec("commit");
  assert.equal((await waiting).status, 202);
  other.exec("begin immediate");
  assert.equal((await submit()).status, 503, "a write must fail after the statement timeout");
  other.exec("commit");
  assert.equal((await submit()).status, 202);
});

test("while another process holds the lock for 3 s, records are read at once, within the quota", async (t) => {
  const temporary = await temporaryStore();
  t.after(temporary.dispose);
  const { database } = temporary;
  assert.ok(database.kind === "sqlite");
  const { ask, submit, key, store } = await startHttp(t, { open: async () => temporary });
  const mine = await key({ requestsPerMinute: 20 });
  const { json } = await submit(undefined, { key: mine });
  const keyId = (await store.keys.list({ max: 100 })).find(({ prefix }) => mine.startsWith(prefix))?.id ?? "";
  assert.equal((await ask({ path: `/api/result/${json.id}`, key: mine })).status, 200);
  const script = `const other = new (require("better-sqlite3"))(process.argv[1]);
    other.exec("begin immediate"); console.log("locked"); setTimeout(() => other.exec("commit"), 3_000);`;
  const holder = spawn(process.execPath, ["-e", script, database.path], { stdio: ["ignore", "pipe", "inherit"] });
  const freed = once(holder, "exit");
  await once(holder.stdout, "data");
  const until = performance.now() + 2_500;
  const statuses: number[] = [];
  const times: number[] = [];
  while (performance.now() < until) {
    const ms = await timed(async () => {
      const answer = await ask({ path: `/api/result/${json.id}`, key: mine });
      statuses.push(answer.status);
      if (answer.status === 429) assert.equal(answer.headers["retry-after"], "60");
    });
    times.push(ms);
    await sleep(50);
  }
  assert.equal(holder.exitCode, null, "the lock was released early");
  t.diagnostic(`${times.length} responses in ms: ${times.map((ms) => ms.toFixed(0)).join(" ")}`);
  // Each request has its own TLS handshake. On a busy machine some take longer, but none waits for the lock.
  assert.ok(percentile(times, 0.75) < MOST_MS && Math.max(...times) < 1_000, `${times}`);
  assert.deepEqual(
    statuses,
    statuses.map((_, n) => (n < 18 ? 200 : 429)),
  );
  await freed;
  const file = new Database(database.path, { readonly: true });
  const counted = () => file.prepare("select count(*) from quota where key_id = ?").pluck().get(keyId);
  for (let looks = 0; counted() !== 20 && looks < 50; looks++) await sleep(100);
  assert.equal(counted(), 20, "counts in memory must be written when the lock is free");
  file.close();
  const other = await temporary.another();
  assert.equal(await other.quota.take(keyId, 20), 60, "the database must have the counts");
  assert.equal(await other.quota.take(keyId, 21), 0, "the database must have no additional counts");
});

test("flushes of 200 ms do not block the event loop", async (t) => {
  const { writer } = diskLab(t);
  const { lines, ended } = writer({ delayMs: 200 }, 60);
  let delays: number[] = [];
  let confirmed = 0;
  for await (const line of lines) {
    if (line.startsWith("delays")) delays = line.split(" ").slice(1).map(Number);
    else confirmed++;
  }
  assert.equal((await ended).code, 0);
  const [p999 = Number.NaN, most = Number.NaN] = delays;
  t.diagnostic(`${confirmed} confirmations; p99.9 ${p999.toFixed(1)} ms, maximum ${most.toFixed(1)} ms`);
  assert.ok(most < MOST_MS);
});

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}
