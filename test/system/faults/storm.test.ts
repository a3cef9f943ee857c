import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import { Pool } from "pg";
import { random } from "../../../bench/capacity/chance.ts";
import { MAX_ATTEMPTS } from "../../../src/domain/submission.ts";
import { groupsOf, hostMounts } from "../../support/launcher/machine.ts";
import { source } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";
import { postgresServer } from "../../support/store/temporary.ts";
import { family, namespacesOf } from "./footprint.ts";
import { remains, type Victim, victims } from "./parts.ts";
import { type RealServe, realServe } from "./real-serve.ts";

/** `assay test full` makes 100 kills; ASSAY_TEST_SEED repeats a run. */
const KILLS = Number(process.env.ASSAY_TEST_KILLS ?? 12);
const SEED = Number(process.env.ASSAY_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const CLIENTS = 6;
const PAUSE_MS = 600;
const PATIENCE_MS = 180_000;

/** Programs, each with its only valid result. */
const PROGRAMS: readonly { language: string; code: string; verdict: string; profile?: string; stdout?: string }[] = [
  { language: "python", code: "print(6 * 7)", verdict: "AC", stdout: "42\n" },
  { language: "python", code: "import time\ntime.sleep(0.4)\nprint('slept')", verdict: "AC", stdout: "slept\n" },
  { language: "python", code: source("python", "exit-seven"), verdict: "RE" },
  { language: "python", code: source("python", "kills-itself"), verdict: "SIG" },
  { language: "c", code: '#include <stdio.h>\nint main(void) { puts("c"); }\n', verdict: "AC", stdout: "c\n" },
  { language: "python", code: source("python", "writes-a-big-file"), verdict: "FSE" },
  { language: "c", code: source("c", "does-not-compile"), verdict: "RE" },
  {
    language: "python",
    code: "import time\ntime.sleep(0.2)\nprint('a')",
    verdict: "AC",
    profile: "agent",
    stdout: "a\n",
  },
];

interface SeenRecord {
  readonly id: string;
  readonly status: string;
  readonly result: { readonly verdict: string };
  readonly output: { readonly stdout: string | null };
}

/** The number of attempts of a submission in the database. */
type AttemptsOf = (id: string) => Promise<number>;

/** Services are killed rarely, because a service runs its smoke tests at each start. */
const VICTIMS: readonly Victim[] = [
  "service",
  "launcher",
  "launcher",
  "slot",
  "slot",
  "slot",
  "slot",
  "init",
  "init",
  "init",
];

/** @returns whether the process still existed. One that recovers from an earlier kill can end by itself. */
function kill(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

for (const database of ["SQLite", "PostgreSQL"] as const) {
  const kills = database === "SQLite" ? KILLS : Math.ceil(KILLS / 4);
  test(`after ${kills} kills of services, launchers, slots and inits under load, every accepted submission ends with the correct result (${database})`, {
    timeout: 1_800_000,
  }, async (t) => {
    t.diagnostic(`ASSAY_TEST_SEED=${SEED}`);
    if (database === "SQLite") {
      const there = await realServe(t);
      return await storm(t, kills, there, async (id) => {
        const file = new Database(join(there.data, "db/assay.sqlite"), { readonly: true });
        const row = file.prepare("select attempts from submissions where id = ?").get(id) as { attempts: number };
        file.close();
        return row.attempts;
      });
    }
    const server = await postgresServer();
    const url = server.url(await server.createDatabase());
    const pool = new Pool({ connectionString: url });
    t.after(() => pool.end());
    await storm(t, kills, await realServe(t, { ASSAY_DATABASE: url, ASSAY_LEASE_MS: "2000" }), async (id) => {
      const { rows } = await pool.query("select attempts from submissions where id = $1", [id]);
      return rows[0]?.attempts;
    });
  });
}

async function storm(t: TestContext, kills: number, there: RealServe, attemptsOf: AttemptsOf): Promise<void> {
  const mounts = hostMounts();
  const limits = ["--rpm", "1000000", "--concurrency", "50", "--profiles", "judge,agent"];
  const keys = ["a", "b", "c"].map((name) => there.command("keys", "create", "--name", name, ...limits));
  const [key = ""] = keys;
  while (!(await there.isReady(key))) await sleep(100);
  await sleep(1_000);
  const before = remains(there);
  const namespaces = () => namespacesOf(family(there.launcher() ?? 0));
  const namespacesBefore = namespaces();
  const chance = random(SEED);
  const ends = new Map<number, SeenRecord>();
  let [next, storming] = [0, true];

  /** Repeats the request until the status is one of `wanted`. A killed service answers later, or with 503. */
  const insist = async (n: number, wanted: readonly number[], ...request: [string, string, unknown?]) => {
    const key = keys[n % keys.length] ?? "";
    const headers = { "idempotency-key": `00000000-0000-4000-8000-${String(n).padStart(12, "0")}` };
    for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; await sleep(50)) {
      try {
        const { status, json } = await there.ask(key, ...request, request[0] === "POST" ? headers : undefined);
        if (wanted.includes(status)) return json as SeenRecord;
        assert.equal(status, 503, JSON.stringify(json));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === undefined && !(error instanceof SyntaxError)) throw error;
      }
    }
    throw new Error(`no service answered ${request.slice(0, 2).join(" ")}: ${there.words()}`);
  };
  const client = async () => {
    for (let n = next++; storming; n = next++) {
      const { language, code, profile = "judge" } = PROGRAMS[n % PROGRAMS.length] ?? assert.fail();
      const path = n % 3 === 0 ? "/api/submit?wait=true" : "/api/submit";
      const { id } = await insist(n, [200, 202, 408], "POST", path, { language, code, profile });
      const deadline = performance.now() + PATIENCE_MS;
      let record: SeenRecord;
      do {
        assert.ok(performance.now() < deadline, `${id} does not end: ${there.words()}`);
        await sleep(50);
        record = await insist(n, [200], "GET", `/api/result/${id}`);
      } while (record.status === "pending" || record.status === "running");
      ends.set(n, record);
    }
  };

  const killed: Record<string, number> = {};
  const killer = async () => {
    for (let count = 0; count < kills; ) {
      await sleep(chance() * PAUSE_MS);
      const kind = VICTIMS[Math.floor(chance() * VICTIMS.length)] as Victim;
      const choice = victims(there, kind);
      const victim = choice[Math.floor(chance() * choice.length)];
      if (victim === undefined || !kill(victim)) continue;
      count++;
      killed[kind] = (killed[kind] ?? 0) + 1;
      // Usually the next kill comes during recovery, and sometimes after it.
      if (kind === "service" && chance() < 0.7) while (!(await there.isReady(key))) await sleep(100);
    }
    storming = false;
  };
  const begun = performance.now();
  await Promise.all([killer(), ...Array.from({ length: CLIENTS }, client)]);
  const healing = performance.now();
  while (!(await there.isReady(key))) await sleep(20);
  const [seconds, healed] = [(healing - begun) / 1000, performance.now() - healing];

  const errors: number[] = [];
  for (const [n, record] of ends) {
    assert.deepEqual(await insist(n, [200], "GET", `/api/result/${record.id}`), record, "a final record changed");
    const { verdict, stdout } = PROGRAMS[n % PROGRAMS.length] ?? assert.fail();
    if (record.status === "error") {
      assert.equal(record.result.verdict, "IE");
      errors.push(n);
      continue;
    }
    assert.equal(checked(record).result.verdict, verdict, JSON.stringify(record));
    if (stdout !== undefined) assert.equal(record.output.stdout, stdout);
  }
  assert.equal(new Set([...ends.values()].map(({ id }) => id)).size, ends.size, "one submission for each request");
  t.diagnostic(
    `${ends.size} submissions in ${seconds.toFixed(0)} s, ready ${healed.toFixed(0)} ms after the last kill; ` +
      `killed ${JSON.stringify(killed)}; ${errors.length} ended as error`,
  );

  let more = 2_000_000;
  const submitAgain = () => insist(more++, [200, 202], "POST", "/api/submit?wait=true", body(1));
  for (const deadline = performance.now() + PATIENCE_MS / 3; performance.now() < deadline; await sleep(250)) {
    // A killed slot is reopened when it is needed: the check has its own, and two runs at once need both workers.
    await Promise.all([there.isReady(key), submitAgain(), submitAgain()]);
    if (JSON.stringify(remains(there)) === JSON.stringify(before)) break;
  }
  assert.deepEqual(remains(there), before);
  // A slot creates the namespaces of its second lane when it first needs them.
  assert.ok(namespaces() <= namespacesBefore, `${namespaces()} namespaces, ${namespacesBefore} before`);
  for (const [n, { verdict }] of PROGRAMS.entries()) {
    const { id } = await insist(1_000_000 + n, [200, 202], "POST", "/api/submit?wait=true", PROGRAMS[n] && body(n));
    const record = checked(await insist(1_000_000 + n, [200], "GET", `/api/result/${id}`));
    assert.equal(record.result.verdict, verdict);
  }
  const instance = there.instance();
  there.process.kill("SIGTERM");
  assert.equal(await there.ended, 0, there.words());
  assert.deepEqual(groupsOf({ instance }), []);
  assert.deepEqual(readdirSync(`${there.data}/run`), []);
  // A run of the profile judge is an error only after all its attempts were lost; one of agent may be after the first.
  for (const n of errors) {
    const { profile = "judge" } = PROGRAMS[n % PROGRAMS.length] ?? assert.fail();
    const attempts = profile === "judge" ? MAX_ATTEMPTS : 1;
    assert.equal(await attemptsOf(ends.get(n)?.id ?? ""), attempts, JSON.stringify(ends.get(n)));
  }
  assert.deepEqual(hostMounts(), mounts);
}

function body(n: number) {
  const { language, code, profile = "judge" } = PROGRAMS[n] ?? assert.fail();
  return { language, code, profile };
}
