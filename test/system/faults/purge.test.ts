import assert from "node:assert/strict";
import { Agent } from "node:https";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { sendText } from "../../support/programs/product.ts";
import type { Ledger } from "./ledger.ts";
import { type Kind, place } from "./places.ts";
import type { RealServe } from "./real-serve.ts";

/** SQLite removes a smaller number before a client can connect. */
const RECORDS = 20_000;
const CLIENTS = 4;
const SAMPLES = 40;
/** The purge is observed for at most this time. */
const WATCHED_MS = SKIPS_LONG ? 3_000 : 10_000;
/**
 * Allowed slowdown of the 95th percentile of submit times during a purge, and of the slowest, which a busy machine may
 * delay.
 */
const MAY_BE_SLOWER = 5;
const NOISE_MS = 250;
const WORST_MS = 5_000;

const BYTES: Readonly<Record<Kind, (count: number) => string>> = {
  SQLite: (count) => `zeroblob(${count})`,
  PostgreSQL: (count) => `decode(repeat('00', ${count}), 'hex')`,
};

/** Adds submissions that ended forty days ago, each with a program and output. */
async function addOld(ledger: Ledger, bytes: (count: number) => string, records: number): Promise<void> {
  const atMs = Date.now() - 40 * 86_400_000;
  await ledger.change(`
    insert into submissions (id, account_id, key_id, language, profile, status, attempts, created_at, started_at,
      completed_at, verdict)
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${records})
    select 'old ' || n, account_id, id, 'python', 'judge', 'completed', 1, ${atMs}, ${atMs}, ${atMs}, 'AC'
    from numbers, api_keys`);
  await ledger.change(
    `insert into programs (submission_seq, code, stdin) select seq, ${bytes(500)}, ${bytes(500)} from submissions`,
  );
  await ledger.change(
    `insert into outcomes (submission_seq, stdout, stderr, body)
     select seq, ${bytes(4_000)}, ${bytes(0)}, '{}' from submissions`,
  );
}

const percentile = (numbers: readonly number[], share: number) =>
  numbers.toSorted((a, b) => a - b)[Math.floor((numbers.length - 1) * share)] ?? 0;

describe("a purge under load", { concurrency: 2 }, () => {
  for (const database of ["SQLite", "PostgreSQL"] as const)
    test(`${RECORDS} old records are removed under load without delaying clients (${database})`, {
      timeout: 240_000,
      skip: database === "PostgreSQL" && SKIPS_LONG,
    }, async (t) => {
      const { home, ledger } = await place(t, database);
      const key = home.command("keys", "create", "--name", "k", "--rpm", "1000000", "--concurrency", "50");
      await addOld(ledger, BYTES[database], RECORDS);
      const left = async () => {
        const [row] = await ledger.rows<{ n: number }>("select count(*) as n from submissions where id like 'old %'");
        return Number(row?.n);
      };
      const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
      t.after(() => agent.destroy());

      /** The time of each submit in milliseconds. */
      const submits = async (port: number, goOn: (count: number) => boolean) => {
        const tookMs: number[] = [];
        const client = async () => {
          while (goOn(tookMs.length)) {
            const began = performance.now();
            const body = { language: "python", code: "print(1)" };
            const { status, text } = await sendText(agent, port, key, "POST", "/api/submit", body);
            if (status === 202) tookMs.push(performance.now() - began);
            else assert.match(`${status} ${text}`, /^503 .*queue full/);
            await sleep(20);
          }
        };
        await Promise.all(Array.from({ length: CLIENTS }, client));
        return tookMs;
      };
      const stop = async (service: RealServe) => {
        service.process.kill("SIGTERM");
        assert.equal(await service.ended, 0, service.words());
      };

      const purging = await home.serve("--workers", "2");
      const before = await left();
      const began = performance.now();
      let now = before;
      const beside = await submits(purging.port, () => now > 0 && performance.now() - began < WATCHED_MS);
      now = await left();
      await stop(purging);
      home.env.ASSAY_RETENTION_DAYS = "0";
      const keeping = await home.serve("--workers", "2");
      const alone = await submits(keeping.port, (count) => count < SAMPLES);
      await stop(keeping);

      const [usual, worst] = [percentile(beside, 0.95), Math.max(...beside)];
      const [without, worstWithout] = [percentile(alone, 0.95), Math.max(...alone)];
      t.diagnostic(
        `${before - now} of ${before} were removed during ${beside.length} submits: ${usual.toFixed(1)} ms for 95 of 100, ` +
          `${worst.toFixed(0)} ms at most; without: ${without.toFixed(1)} ms and ${worstWithout.toFixed(0)} ms at most`,
      );
      assert.ok(before > now, "nothing was removed");
      assert.ok(beside.length >= 10, "too few submits during the purge");
      assert.ok(usual < without * MAY_BE_SLOWER + NOISE_MS, `${usual} ms during a purge, ${without} ms without`);
      assert.ok(worst < worstWithout + WORST_MS, `one submit took ${worst} ms`);
    });
});
