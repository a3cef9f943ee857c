import assert from "node:assert/strict";
import { Agent } from "node:https";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sendText } from "../engine/engine.ts";
import type { Ledger } from "./ledger.ts";
import { type Kind, place } from "./places.ts";

/** `assay test full` has 20,000. */
const RECORDS = Number(process.env.ASSAY_TEST_RECORDS ?? 5_000);
const CLIENTS = 4;
const SAMPLES = 60;
/** Of one submit, beside a purge, over what it takes without one; and what noise of the machine may add to either. */
const MAY_BE_SLOWER = 10;
const NOISE_MS = 250;

const BYTES: Readonly<Record<Kind, (count: number) => string>> = {
  SQLite: (count) => `zeroblob(${count})`,
  PostgreSQL: (count) => `decode(repeat('00', ${count}), 'hex')`,
};

/** Ended forty days ago, each with a program and some output. */
async function addOld(ledger: Ledger, bytes: (count: number) => string): Promise<void> {
  const atMs = Date.now() - 40 * 86_400_000;
  await ledger.change(`
    insert into submissions (id, account_id, key_id, language, profile, status, attempts, created_at, started_at,
      completed_at, verdict)
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${RECORDS})
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

const UNENDED = "select count(*) as n from submissions where status in ('pending', 'running')";

describe("a purge beside load", { concurrency: 2 }, () => {
  for (const database of ["SQLite", "PostgreSQL"] as const)
    test(`${RECORDS} old records are removed beside clients, none of whom waits for it (${database})`, {
      timeout: 240_000,
    }, async (t) => {
      const { home, ledger } = await place(t, database);
      const limits = ["--rpm", "1000000", "--concurrency", "50"];
      const key = home.command("keys", "create", "--name", "k", ...limits);
      await addOld(ledger, BYTES[database]);
      const left = async () => {
        const [row] = await ledger.rows<{ n: number }>("select count(*) as n from submissions where id like 'old %'");
        return Number(row?.n);
      };
      const service = await home.serve("--workers", "2");
      const agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
      t.after(() => agent.destroy());

      /** How long each of so many submits took, in milliseconds; every other one waits for its end, too, which is not counted. */
      const submits = async (goOn: (count: number) => boolean) => {
        const tookMs: number[] = [];
        const client = async () => {
          while (goOn(tookMs.length)) {
            const began = performance.now();
            const body = { language: "python", code: "print(1)" };
            const { status, text } = await sendText(agent, service.port, key, "POST", "/api/submit", body);
            if (status === 202) tookMs.push(performance.now() - began);
            else assert.equal(status, 503, text); // no language is proven yet
            await sleep(20);
          }
        };
        await Promise.all(Array.from({ length: CLIENTS }, client));
        return tookMs;
      };

      const atFirst = await left();
      const began = performance.now();
      let [removing, purgeMs] = [true, 0];
      const watching = (async () => {
        while ((await left()) > 0) await sleep(100);
        purgeMs = performance.now() - began;
        removing = false;
      })();
      const beside = await submits(() => removing);
      await watching;
      while (Number((await ledger.rows<{ n: number }>(UNENDED))[0]?.n) > 0) await sleep(100);
      const alone = await submits((count) => count < SAMPLES);
      const [worst, usual, without] = [Math.max(...beside), percentile(beside, 0.5), percentile(alone, 0.5)];
      t.diagnostic(
        `${atFirst} in ${purgeMs.toFixed(0)} ms; ${beside.length} submits beside them: ${usual.toFixed(1)} ms in the middle, ` +
          `${worst.toFixed(0)} ms at most; without: ${without.toFixed(1)} ms, ${Math.max(...alone).toFixed(0)} ms at most`,
      );
      assert.ok(atFirst > RECORDS / 2, "the purge was over before it was looked at");
      assert.ok(beside.length >= 10, "nobody submitted beside it");
      assert.ok(usual < without * MAY_BE_SLOWER + NOISE_MS, `${usual} ms beside a purge, ${without} ms without`);
      assert.ok(worst < Math.max(purgeMs / 2, 2 * NOISE_MS), `one took ${worst} ms of ${purgeMs} ms`);
      service.process.kill("SIGTERM");
      assert.equal(await service.ended, 0, service.words());
    });
});
