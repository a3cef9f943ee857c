import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { Agent, request } from "node:https";
import { basename, join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openStore } from "../../../src/store/open.ts";
import {
  assay,
  dataDirectory,
  NOBODY,
  type Serving,
  type Started,
  serveWith,
  workerWithin,
} from "../../support/cli/processes.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { childrenOf, eventually, tracesLeft } from "../../support/launcher/machine.ts";
import { sendText, type TextAnswer } from "../../support/programs/product.ts";
import { PostgresServer } from "../../support/store/postgres-server.ts";
import { footprint } from "../faults/footprint.ts";

/*
 * Two services and a worker with sandboxes, as processes that share a PostgreSQL server, and clients of both services. Parts are killed one after
 * the other, also in the middle of a snapshot and of an upload. Each execution that was accepted ends once, and none runs twice; a file and
 * a snapshot are whole or absent; and the launcher has afterwards what it had before.
 */

const KILLS = Number(process.env.ASSAY_TEST_SANDBOX_KILLS ?? 10);
const MIB = 1_048_576;
const SANDBOXES = 3;
const CLIENTS = 3;
/** A worker that was killed must begin again before the end of its lease. */
const LEASE_MS = 60_000;
/** Bytes of an upload, which repeats one character that says which it was. */
const UPLOAD_BYTES = 2 * MIB;
/** What makes a snapshot last long enough to be interrupted. */
const BALLAST_MIB = 24;
const SNAPSHOTS = 3;
/** So many of the last executions of a sandbox are stored for sure, also after its end. Those that ended first are deleted, which need not be the lowest numbers. */
const STORED = 400;
/** What an execution can end as if parts are killed. */
const ENDS = ["AC", "IE", "SIG"];

interface Accepted {
  readonly path: string;
  readonly number: number;
  readonly line: string;
  readonly verdict: string;
}

const agent = new Agent({ rejectUnauthorized: false });

class Fleet {
  readonly #t: TestContext;
  readonly launcher: Launcher;
  readonly #server: PostgresServer;
  readonly #database: string;
  readonly #data: readonly string[];
  readonly snapshots: string;
  readonly services: Serving[] = [];
  worker: Started | undefined;
  key = "";

  constructor(t: TestContext, launcher: Launcher, server: PostgresServer, database: string) {
    this.#t = t;
    this.launcher = launcher;
    this.#server = server;
    this.#database = database;
    this.#data = [dataDirectory(t), dataDirectory(t), dataDirectory(t)];
    this.snapshots = join(this.#data[2] ?? "", "db", "snapshots");
  }

  async startService(n: number): Promise<void> {
    this.services[n] = await serveWith({}, this.#t, this.#data[n] ?? "", ["--no-worker"]);
  }

  async startWorker(): Promise<void> {
    const settings = [
      `ASSAY_SANDBOXES=${4 * SANDBOXES}`,
      `ASSAY_SANDBOX_MEMORY=${4 * SANDBOXES * 256 * MIB}`,
      `ASSAY_SNAPSHOT_DIRECTORY=${this.snapshots}`,
      "ASSAY_LINK_LISTEN=127.0.0.1:0",
    ];
    const options = ["--workers", "1", "--launcher-socket", this.launcher.socket, "--keep-sandboxes"];
    this.worker = await workerWithin(["env", ...settings], this.#t, this.#data[2] ?? "", ...options);
  }

  /** It leaves its sandboxes to the launcher. */
  async stopWorker(): Promise<void> {
    this.worker?.process.kill("SIGTERM");
    assert.equal(await this.worker?.ended, 0, this.worker?.output());
    this.worker = undefined;
  }

  async makeKey(): Promise<void> {
    const own = ["--name", "me", "--account", "one", "--profiles", "agent"];
    const made = await assay("keys", "create", "--data", this.#data[0] ?? "", ...own);
    assert.equal(made.code, 0, made.stderr);
    this.key = made.stdout.trim();
  }

  /** One request to a service. @throws if it is not answered as a whole. */
  ask(service: number, method: string, path: string, body?: object | Buffer, more = {}): Promise<TextAnswer> {
    const headers = Buffer.isBuffer(body) ? { "content-type": "application/octet-stream" } : more;
    return sendText(agent, this.services[service]?.port ?? 0, this.key, method, path, body, headers);
  }

  /**
   * Repeats a request that has no effect beyond the first one until it is answered, and neither because something was killed (503) nor because the requests of
   * the key in this minute are used up (429).
   */
  async patiently(method: string, path: string, body?: object, more = {}): Promise<{ status: number; json: Json }> {
    for (let n = 0; ; n++) {
      const answer = await this.ask(n % 2, method, path, body, more).catch(() => undefined);
      if (answer && ![429, 503].includes(answer.status))
        return { status: answer.status, json: JSON.parse(answer.text) };
      await sleep(50);
    }
  }

  async execute(path: string, shell: string): Promise<Json> {
    const { status, json } = await this.patiently("POST", `${path}/executions`, { shell });
    assert.deepEqual([status, json.result?.verdict], [200, "AC"], JSON.stringify(json));
    return json;
  }

  async listSnapshots(): Promise<readonly Json[]> {
    const { status, json } = await this.patiently("GET", "/api/snapshots");
    assert.equal(status, 200, JSON.stringify(json));
    return json.snapshots;
  }

  async create(body: object = {}): Promise<string> {
    const limits = { memory_bytes: 256 * MIB, disk_bytes: 96 * MIB };
    const asked = { limits, lifetime_secs: 7200, ...body };
    const once = { "idempotency-key": randomUUID() };
    const { status, json } = await this.patiently("POST", "/api/sandboxes", asked, once);
    assert.equal(status, 201, JSON.stringify(json));
    return `/api/sandboxes/${json.id}`;
  }

  async killDatabase(): Promise<void> {
    await this.#server.kill();
    await sleep(100);
    await this.#server.start();
  }

  /** The last errors of the services. */
  errors(): string {
    const lines = this.services.flatMap((service) => service.output().split("\n"));
    return lines
      .filter((line) => line.startsWith('{"level":50'))
      .slice(-4)
      .join("\n");
  }

  admin(statement: string) {
    return this.#server.admin(statement, this.#database);
  }
}

interface Json {
  readonly id: string;
  readonly number: number;
  readonly status: string;
  readonly state: string;
  readonly name: string;
  readonly result?: { readonly verdict: string } | null;
  readonly output?: { readonly stdout: string };
  readonly snapshots: readonly Json[];
  readonly entries: readonly { readonly path: string }[];
}

async function kill(started: Started | undefined): Promise<void> {
  started?.process.kill("SIGKILL");
  await started?.ended;
}

/** Parts that are killed, in turn. Each function resolves when the part runs again. */
function parts(fleet: Fleet, sandboxes: readonly string[]): (() => Promise<void>)[] {
  let turn = 0;
  const service = async () => {
    const n = turn++ % 2;
    await kill(fleet.services[n]);
    await fleet.startService(n);
  };
  const worker = async () => {
    await kill(fleet.worker);
    await fleet.startWorker();
  };
  const part = (what: "holder" | "slot") => async () => {
    for (let tries = 0; tries < 100; tries++) {
      // Holders have a child, which is the init of their sandbox, and attached slots only while they run a program.
      const all = childrenOf(fleet.launcher.pid).map((pid) => ({ pid, children: childrenOf(pid).length }));
      const found = all.filter(({ children }) => (what === "holder" ? children > 0 : children === 0));
      const victim = found[Math.floor(Math.random() * found.length)];
      try {
        if (victim && process.kill(victim.pid, "SIGKILL")) break;
      } catch {
        // It has ended by itself meanwhile.
      }
      await sleep(10);
    }
    await sleep(200);
  };
  /** Kills when an archive is being written. */
  const duringSnapshot = (which: () => Promise<void>) => async () => {
    const path = sandboxes[turn % SANDBOXES] ?? "";
    const isWriting = () => readdirSync(fleet.snapshots).some((name) => name.endsWith(".writing"));
    let isOver = false;
    const asked = fleet
      .ask(1, "POST", `${path}/snapshots`, { name: "interrupted" })
      .catch(() => undefined)
      .finally(() => {
        isOver = true;
      });
    while (!isWriting() && !isOver) await sleep(1);
    await which();
    await asked;
  };
  /** Kills when half of a file has been sent, over the service that is killed next. */
  const duringUpload = (which: () => Promise<void>) => async () => {
    const path = `${sandboxes[turn % SANDBOXES]}/files?path=interrupted`;
    const { port } = fleet.services[turn % 2] as Serving;
    const headers = {
      "x-api-key": fleet.key,
      "content-type": "application/octet-stream",
      "content-length": String(2 * UPLOAD_BYTES),
    };
    const upload = request({ host: "127.0.0.1", port, method: "PUT", path, headers, agent });
    upload.on("error", () => {}).on("response", (response) => response.resume().on("error", () => {}));
    await new Promise<void>((resolve) => upload.write(Buffer.alloc(UPLOAD_BYTES, "x"), () => resolve()));
    await sleep(20 + Math.random() * 50);
    await which();
    upload.destroy();
  };
  const restartWorker = async () => {
    await fleet.stopWorker();
    await fleet.startWorker();
  };
  return [
    service,
    duringUpload(worker),
    () => fleet.killDatabase(),
    part("slot"),
    duringSnapshot(worker),
    duringUpload(service),
    part("holder"),
    duringSnapshot(() => fleet.killDatabase()),
    restartWorker,
    duringUpload(part("holder")),
  ];
}

test("kills of services beside a worker, of the worker, its parts and PostgreSQL lose, repeat and leave nothing", {
  timeout: 3_600_000,
}, async (t) => {
  const server = await PostgresServer.start();
  t.after(() => server.remove());
  const database = await server.createDatabase();
  const url = server.url(database);
  await (await openStore({ database: { kind: "postgres", url } })).close();
  process.env.ASSAY_LEASE_MS = String(LEASE_MS);
  process.env.ASSAY_DATABASE = url;
  t.after(() => {
    delete process.env.ASSAY_LEASE_MS;
    delete process.env.ASSAY_DATABASE;
  });
  const sandboxMemory = 4 * SANDBOXES * 256 * MIB;
  const launcher = await startLauncher({ slots: 3, sandboxes: 4 * SANDBOXES, sandboxMemory, clientUid: NOBODY });
  const fleet = new Fleet(t, launcher, server, database);
  for (const n of [0, 1]) await fleet.startService(n);
  await fleet.startWorker();
  await fleet.makeKey();

  // What the launcher has when everything has been used once, and no process is connected to it.
  const first = await fleet.create();
  await fleet.execute(first, "true");
  assert.equal((await fleet.patiently("DELETE", first)).status, 200);
  const held = () => {
    const { launcherDescriptors, groups, processes, namespaces, hostMounts } = footprint(launcher, process.pid);
    return { launcherDescriptors, groups, processes, namespaces, hostMounts };
  };
  await fleet.stopWorker();
  await eventually("the launcher is alone", () => childrenOf(launcher.pid).length === 0);
  const before = held();
  await fleet.startWorker();

  const sandboxes: string[] = [];
  const all = new Set<string>();
  const refill = async () => {
    for (let at = 0; at < SANDBOXES; at++) {
      const known = sandboxes[at];
      if (known !== undefined && (await fleet.patiently("GET", known)).json.state === "running") continue;
      const path = await fleet.create();
      await fleet.execute(path, `head -c ${BALLAST_MIB}M /dev/urandom > ballast`);
      sandboxes[at] = path;
      all.add(path);
    }
  };
  await refill();

  const accepted: Accepted[] = [];
  let isOver = false;
  const pause = () => sleep(100 + Math.random() * 200);
  const execute = async (name: number) => {
    for (let n = 0; !isOver; n++) {
      const line = `${name}.${n}`;
      const path = sandboxes[n % SANDBOXES] ?? "";
      const shell = n % 3 === 0 ? `sleep 0.3; echo ${line} >> lines` : `echo ${line} >> lines; sleep 0.1`;
      // Whether a request that is not answered had an effect is not known.
      const answer = await fleet
        .ask(n % 2, "POST", `${path}/executions?wait=false`, { shell, background: n % 5 === 0 })
        .catch(() => undefined);
      if (answer?.status === 201) {
        const { number } = JSON.parse(answer.text) as Json;
        const ended = await fleet.patiently("GET", `${path}/executions/${number}?wait=true`);
        assert.equal(ended.status, 200, `${path} ${number}: ${JSON.stringify(ended.json)}\n${fleet.errors()}`);
        accepted.push({ path, number, line, verdict: ended.json.result?.verdict ?? ended.json.status });
      }
      await pause();
    }
  };
  const upload = async () => {
    for (let n = 0; !isOver; n++) {
      const path = `${sandboxes[n % SANDBOXES]}/files?path=uploaded`;
      await fleet.ask(n % 2, "PUT", path, Buffer.alloc(UPLOAD_BYTES, n % 128)).catch(() => undefined);
      const read = await fleet.ask((n + 1) % 2, "GET", path).catch(() => undefined);
      if (read?.status === 200) assertWhole(read.text, path);
      await pause();
    }
  };
  const snapshot = async () => {
    for (let n = 0; !isOver; n++) {
      await fleet.ask(n % 2, "POST", `${sandboxes[n % SANDBOXES]}/snapshots`, { name: "taken" }).catch(() => undefined);
      for (const { id } of (await fleet.listSnapshots()).slice(SNAPSHOTS))
        await fleet.patiently("DELETE", `/api/snapshots/${id}`);
      await sleep(1000);
    }
  };
  const clients = Promise.all([...Array.from({ length: CLIENTS }, (_, name) => execute(name)), upload(), snapshot()]);
  clients.catch(() => {
    isOver = true;
  });
  const kinds = parts(fleet, sandboxes);
  try {
    for (let n = 0; n < KILLS && !isOver; n++) {
      await sleep(200 + Math.random() * 400);
      await (kinds[n % kinds.length] as () => Promise<void>)();
      await refill();
    }
    await sleep(500);
    await refill(); // what the last kill has ended was perhaps not known yet
  } finally {
    isOver = true;
    await clients;
  }

  const lines = new Map<string, readonly string[]>();
  for (const path of sandboxes) {
    const { output } = await fleet.execute(path, "cat lines 2>/dev/null || true");
    lines.set(path, output?.stdout.split("\n") ?? []);
    for (const file of ["uploaded", "interrupted"]) {
      const { status, text } = await fleet.ask(0, "GET", `${path}/files?path=${file}`);
      assert.ok(status === 200 || status === 404, text);
      if (status === 200) assertWhole(text, `${path} ${file}`);
    }
    const { entries } = (await fleet.patiently("GET", `${path}/files/list?path=.`)).json;
    const names = entries
      .map(({ path: file }) => basename(file))
      .filter((name) => ![".local", "ballast", "lines", "uploaded"].includes(name));
    assert.deepEqual(names, [], "an interrupted upload leaves nothing");
  }
  for (const [path, ran] of lines)
    assert.equal(new Set(ran).size, ran.length, `${path}: a line ran twice, of ${ran.length}`);
  const verdicts: Record<string, number> = {};
  const highest = new Map<string, number>();
  for (const { path, number } of accepted) highest.set(path, Math.max(highest.get(path) ?? 0, number));
  for (const { path, number, line, verdict } of accepted) {
    assert.ok(ENDS.includes(verdict), `${path} ${number}: ${verdict}`);
    verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
    if (verdict === "AC" && lines.has(path))
      assert.ok(lines.get(path)?.includes(line), `${line} is AC and did not run`);
    if (!sandboxes.includes(path) || (highest.get(path) ?? 0) - number >= STORED) continue;
    const { json } = await fleet.patiently("GET", `${path}/executions/${number}`);
    assert.equal(json.result?.verdict, verdict, `${path} ${number} has ended twice`);
  }
  t.diagnostic(`${KILLS} kills, ${accepted.length} executions: ${JSON.stringify(verdicts)}, ${all.size} sandboxes`);
  assert.ok(accepted.length > KILLS && (verdicts.AC ?? 0) > 0, JSON.stringify(verdicts));

  // Each snapshot that exists can be used. The next process removes what was interrupted, whose time is over at once here.
  assert.equal((await fleet.patiently("POST", `${sandboxes[0]}/snapshots`, { name: "last" })).status, 201);
  await fleet.admin("update snapshots set written_until = 0 where written_until is not null");
  await fleet.stopWorker();
  await fleet.startWorker();
  const snapshots = await fleet.listSnapshots();
  assert.ok(snapshots.length > 0);
  const archives = readdirSync(fleet.snapshots).filter((name) => name !== "id");
  assert.deepEqual(archives.sort(), snapshots.map(({ id }) => id).sort());
  for (const { id } of snapshots.slice(0, SNAPSHOTS + 2)) {
    const path = await fleet.create({ from: id });
    const { output } = await fleet.execute(path, "stat -c %s ballast");
    assert.equal(output?.stdout, `${BALLAST_MIB * MIB}\n`);
    assert.equal((await fleet.patiently("DELETE", path)).status, 200);
  }

  for (const path of sandboxes) assert.equal((await fleet.patiently("DELETE", path)).status, 200);
  for (const path of all) assert.equal((await fleet.patiently("GET", path)).json.state, "ended");
  assert.deepEqual(await fleet.admin("select count(*)::int as amount from executions where completed_at is null"), [
    { amount: 0 },
  ]);
  await fleet.stopWorker();
  const isAsBefore = () =>
    Object.entries(held()).every(([name, value]) => value <= before[name as keyof typeof before]);
  await eventually(`${JSON.stringify(before)} again`, isAsBefore).catch(() => assert.deepEqual(held(), before));
  for (const service of fleet.services) {
    service.process.kill("SIGTERM");
    assert.equal(await service.ended, 0, service.output());
  }
  assert.equal(await launcher.stop(), 0, launcher.stderr());
  assert.deepEqual(await tracesLeft(launcher), []);
});

/** An upload repeats one character. */
function assertWhole(text: string, what: string): void {
  assert.equal(text.length, UPLOAD_BYTES, what);
  assert.equal(text, text.charAt(0).repeat(UPLOAD_BYTES), what);
}
