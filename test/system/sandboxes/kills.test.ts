import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { DatabaseLocation } from "../../../src/domain/database.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { childrenOf, eventually, groupsOf, tracesLeft } from "../../support/launcher/machine.ts";
import type { KeeperSettings } from "../../support/sandboxes/keeper-process.ts";
import { type KeeperProcess, startKeeper } from "../../support/sandboxes/start-keeper.ts";
import { PostgresServer } from "../../support/store/postgres-server.ts";

const KILLS = Number(process.env.ASSAY_TEST_SANDBOX_KILLS ?? 10);
const SANDBOXES = 3;
const CLIENTS = 4;
const MIB = 1_048_576;
/** So many of the last executions of a sandbox are stored for sure, also after its end. Those that ended first are deleted, which need not be the lowest numbers. */
const STORED = 400;

let launcher: Launcher;
before(async () => {
  launcher = await startLauncher({ sandboxes: 2 * SANDBOXES, sandboxMemory: 2048 * MIB });
});
after(async () => {
  assert.equal(await launcher.stop(), 0, launcher.stderr());
  assert.deepEqual(await tracesLeft(launcher), []);
});

const isWithoutSandboxes = () => groupsOf(launcher).every((path) => !/\/h\d+/.test(path));

/** A process of the launcher: holders have a child, which is the init of their sandbox, and attached slots only while they run a program. */
function victim(what: "holder" | "slot"): number | undefined {
  const all = childrenOf(launcher.pid).map((pid) => ({ pid, children: childrenOf(pid) }));
  const found = all.filter(({ children }) => (what === "holder" ? children.length > 0 : children.length === 0));
  return found[Math.floor(Math.random() * found.length)]?.pid;
}

/** Processes one after the other with the same database and launcher. */
class Services {
  now: KeeperProcess | null = null;
  #key: KeeperSettings["key"] = null;
  #started = 0;
  readonly #database: DatabaseLocation;

  constructor(t: TestContext, database: DatabaseLocation) {
    this.#database = database;
    t.after(() => this.now?.kill());
  }

  async start(leaves = true): Promise<KeeperProcess> {
    const worker = `worker ${++this.#started}`;
    const more = { sandboxes: SANDBOXES, leaves, key: this.#key };
    this.now = await startKeeper({ database: this.#database, launcherSocket: launcher.socket, worker, ...more });
    this.#key = this.now.key;
    return this.now;
  }
}

interface Accepted {
  readonly id: string;
  readonly number: number;
  readonly line: string;
}

/** Kills parts again and again while clients execute commands. @param kills what is killed, in turn. */
async function storm(services: Services, kills: readonly (() => Promise<void>)[]): Promise<void> {
  const accepted: Accepted[] = [];
  const sandboxes: string[] = [];
  const all: string[] = [];
  let isOver = false;
  const client = async (name: number) => {
    for (let n = 0; !isOver; n++) {
      const line = `${name}.${n}`;
      const id = sandboxes[n % sandboxes.length] ?? "";
      try {
        // Some lines come at once, and some after the time in which parts are killed.
        const command = n % 3 === 0 ? `sleep 0.3; echo ${line} >> lines` : `echo ${line} >> lines; sleep 0.1`;
        const number = await (services.now as KeeperProcess).execute(id, command, n % 5 === 0);
        accepted.push({ id, number, line });
      } catch {
        await sleep(20); // not accepted
      }
      await sleep(20);
    }
  };
  const refill = async () => {
    for (let at = 0; at < SANDBOXES; at++) {
      const id = sandboxes[at];
      const state = id === undefined ? "none" : (await services.now?.state(id))?.state;
      if (state === "running") continue;
      const made = await (services.now as KeeperProcess).create().catch(() => undefined); // a part was killed meanwhile
      if (made === undefined) continue;
      sandboxes[at] = made;
      all.push(made);
    }
  };
  await services.start();
  await refill();
  const clients = Array.from({ length: CLIENTS }, (_, name) => client(name));
  try {
    for (let n = 0; n < KILLS; n++) {
      await sleep(200 + Math.random() * 400);
      await (kills[n % kills.length] as () => Promise<void>)();
      await refill();
    }
    await sleep(500);
  } finally {
    isOver = true;
    await Promise.all(clients);
  }
  const service = services.now as KeeperProcess;
  await sleep(1000); // the last ones end

  const lines = new Map<string, string[]>();
  for (const id of sandboxes) {
    // That the last kill has ended one can become known only now.
    const ran = await service.output(id, "cat lines 2>/dev/null || true").catch(() => null);
    if (ran !== null) lines.set(id, ran.split("\n"));
    else assert.equal((await service.state(id)).state, "ended");
  }
  const verdicts: Record<string, number> = {};
  const highest = new Map<string, number>();
  for (const { id, number } of accepted) highest.set(id, Math.max(highest.get(id) ?? 0, number));
  for (const { id, number, line } of accepted) {
    if ((highest.get(id) ?? 0) - number >= STORED) continue;
    const { verdict, message } = await service.outcome(id, number);
    assert.ok(verdict, `${id} ${number} has no outcome`);
    assert.ok(["AC", "IE", "SIG"].includes(verdict), `${verdict}: ${message}`);
    verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
    const found = lines.get(id)?.filter((one) => one === line).length;
    if (found === undefined) continue; // its sandbox was lost
    assert.ok(found <= 1, `${line} ran ${found} times`);
    if (verdict === "AC") assert.equal(found, 1, `${line} is ${verdict} and did not run`);
  }
  for (const id of lines.keys()) assert.equal(await service.end(id), "client"); // which deletes more of the executions
  assert.ok(accepted.length > KILLS, `${accepted.length} executions`);
  assert.ok((verdicts.AC ?? 0) > 0, JSON.stringify(verdicts));
  for (const id of all) assert.equal((await service.state(id)).state, "ended");
  assert.equal(await service.stop(), 0);
  await eventually("nothing is left", isWithoutSandboxes);
}

const killService = (services: Services) => async () => {
  await services.now?.kill();
  await services.start();
};
const killPart = (what: "holder" | "slot") => async () => {
  for (let tries = 0; tries < 50; tries++) {
    const pid = victim(what);
    try {
      if (pid !== undefined && process.kill(pid, "SIGKILL")) break;
    } catch {
      // It has ended by itself meanwhile.
    }
    await sleep(10);
  }
  await sleep(200);
};
const restart = (services: Services) => async () => {
  assert.equal(await services.now?.stop(), 0);
  await services.start();
};

test("a restart keeps files and servers; a service that is gone for good leaves nothing", async (t) => {
  const services = new Services(t, sqlite(t));
  const first = await services.start();
  const id = await first.create();
  await first.output(id, "echo kept > note");
  await first.execute(id, "(while true; do date +%s.%N > beat; sleep 0.05; done) >/dev/null 2>&1 &", true);
  // A server in the foreground of its execution, which writes to its output, and another program that is not in the background.
  const server = await first.execute(id, "while true; do echo request; date +%s.%N > served; sleep 0.05; done", true);
  const command = await first.execute(id, "echo $$ > command; sleep 600");
  await sleep(300);
  assert.equal(await first.stop(), 0);
  const second = await services.start(false);
  assert.equal(await second.output(id, "cat note"), "kept\n");
  const beat = () => second.output(id, "cat beat");
  const before = await beat();
  await sleep(300);
  assert.notEqual(await beat(), before, "the program that was left goes on");
  const served = await second.output(id, "cat served");
  await sleep(300);
  assert.notEqual(await second.output(id, "cat served"), served, "the server goes on");
  assert.equal(await second.output(id, "kill -0 $(cat command) 2>/dev/null || echo gone"), "gone\n");
  for (const [number, message] of [
    [server, /its programs go on/],
    [command, /it was killed/],
  ] as const) {
    const ended = await second.outcome(id, number);
    assert.equal(ended.verdict, "IE");
    assert.match(ended.message ?? "", message);
  }
  assert.deepEqual(await second.state(id), { state: "running", reason: null });
  assert.equal(await second.stop(), 0, "this one does not leave its sandboxes");
  assert.ok(isWithoutSandboxes());
  const third = await services.start();
  assert.deepEqual(await third.state(id), { state: "ended", reason: "shutdown" });
  await third.stop();
});

test("SQLite: kills lose no execution and repeat none, and leave nothing", { timeout: 3_600_000 }, async (t) => {
  const services = new Services(t, sqlite(t));
  await storm(services, [killService(services), killPart("slot"), restart(services), killPart("holder")]);
});

test("PostgreSQL: the same, also if the database is killed", { timeout: 3_600_000 }, async (t) => {
  const server = await PostgresServer.start();
  t.after(() => server.remove());
  const services = new Services(t, { kind: "postgres", url: server.url(await server.createDatabase()) });
  const killDatabase = async () => {
    await server.kill();
    await sleep(100);
    await server.start();
    // A connection can still be refused when the server answers to the first one.
    for (let tries = 0; tries < 50; tries++) {
      if (await services.now?.state("none").then(Boolean, () => false)) break;
      await sleep(100);
    }
  };
  await storm(services, [killService(services), killDatabase, killPart("slot"), restart(services), killPart("holder")]);
});

function sqlite(t: TestContext): DatabaseLocation {
  const directory = mkdtempSync(join(tmpdir(), "assay-kills-"));
  t.after(() => rmSync(directory, { recursive: true }));
  return { kind: "sqlite", path: join(directory, "assay.sqlite") };
}
