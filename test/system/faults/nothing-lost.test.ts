import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { random } from "../../../bench/capacity/chance.ts";
import { groupsOf, hostMounts } from "../../support/launcher/machine.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { PostgresServer } from "../../support/store/postgres-server.ts";
import { makeCertificates, type Receiver, startReceiver } from "../../support/webhooks/receiver.ts";
import { type Ledger, postgresLedger, sqliteLedger } from "./ledger.ts";
import { Load } from "./load.ts";
import { remains, victims } from "./parts.ts";
import { receiverSettings } from "./places.ts";
import { CONCURRENCY, checkDeliveries, checkRate, checkSubmissions, REQUESTS_PER_MINUTE } from "./promises.ts";
import { type Installation, installation, type RealCommand, type RealServe } from "./real-serve.ts";

/**
 * `assay test full` makes 3,000 submissions and 120 kills on each engine; ASSAY_TEST_SEED repeats a run. At the end,
 * the views of clients, receiver and database are compared.
 */
const SUBMISSIONS = Number(process.env.ASSAY_TEST_SUBMISSIONS ?? 50);
const KILLS = Math.ceil((SUBMISSIONS * 4) / 100);
const SEED = Number(process.env.ASSAY_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const LEASE_MS = 2_000;

/** Clients that submit, by key. */
const CLIENTS = { big: 20, small: 1, hooked: 4, limited: 1 } as const;
interface Site {
  readonly home: Installation;
  readonly services: readonly RealServe[];
  readonly commands: readonly RealCommand[];
  readonly ledger: Ledger;
  /** Total slots of all processes. */
  readonly slots: number;
  readonly server?: PostgresServer;
}

async function sqliteSite(t: TestContext, settings: Record<string, string>): Promise<Site> {
  const home = installation(t, settings);
  const service = await home.serve("--workers", "4");
  const ledger = sqliteLedger(join(home.data, "db/assay.sqlite"));
  return { home, services: [service], commands: [service], ledger, slots: 4 };
}

/** Two services and two workers. */
async function postgresSite(t: TestContext, settings: Record<string, string>): Promise<Site> {
  const server = await PostgresServer.start();
  t.after(() => server.stop());
  const url = server.url(await server.createDatabase());
  const home = installation(t, { ...settings, ASSAY_DATABASE: url, ASSAY_LEASE_MS: String(LEASE_MS) });
  const first = await home.serve("--no-worker");
  const secrets = { ASSAY_SECRET_KEY_FILE: join(home.data, "keys/webhook.key") };
  const away = { ...settings, ...secrets, ASSAY_DATABASE: url, ASSAY_LEASE_MS: String(LEASE_MS) };
  home.command("webhooks", "list"); // creates the key file
  const second = installation(t, away).serve("--no-worker");
  const workers = [await home.start("worker", "--workers", "2"), await home.start("worker", "--workers", "2")];
  const services = [first, await second];
  return { home, services, commands: [...services, ...workers], ledger: postgresLedger(url), slots: 4, server };
}

/** Fails the first two requests of a message in several ways, at random; accepts the third. */
async function failingReceiver(t: TestContext, certificates: ReturnType<typeof makeCertificates>): Promise<Receiver> {
  const chance = random(SEED);
  const seen = new Map<string, number>();
  return await startReceiver(t, certificates, (response, { headers }) => {
    const id = String(headers["webhook-id"]);
    const times = (seen.get(id) ?? 0) + 1;
    seen.set(id, times);
    const outcome = times > 2 ? 1 : chance();
    if (outcome < 0.15) response.writeHead(500).end();
    else if (outcome < 0.3) response.destroy();
    else response.writeHead(204).end();
  });
}

describe("nothing is lost", { concurrency: 2 }, () => {
  for (const [database, make] of [
    ["SQLite", sqliteSite],
    ["PostgreSQL", postgresSite],
  ] as const) {
    test(`after ${KILLS} kills during ${SUBMISSIONS} submissions, each has ended exactly once and is delivered (${database})`, {
      timeout: 3_600_000,
      skip: database === "PostgreSQL" && SKIPS_LONG, // programs/processes.test.ts kills services and workers of one in a plain run
    }, async (t) => {
      t.diagnostic(`ASSAY_TEST_SEED=${SEED}`);
      const certificates = makeCertificates();
      const receiver = await failingReceiver(t, certificates);
      const site = await make(t, receiverSettings(t, certificates, receiver));
      t.after(() => site.ledger.close());
      await storm(t, site, receiver);
    });
  }
});

function makeKeys({ command }: Installation, receiver: Receiver) {
  const keys: Record<string, string> = {};
  command("projects", "create", "--name", "hooked");
  for (const [name, concurrency] of Object.entries(CONCURRENCY)) {
    const rpm = name === "limited" ? REQUESTS_PER_MINUTE : 1_000_000;
    const limits = ["--rpm", String(rpm), "--concurrency", String(concurrency)];
    const project = name === "hooked" ? ["--project", "hooked"] : [];
    keys[name] = command("keys", "create", "--name", name, ...limits, ...project);
  }
  keys.reader = command("keys", "create", "--name", "reader", "--account", "limited", "--rpm", "1000000");
  const made = command("webhooks", "create", "--project", "hooked", "--url", receiver.url, "--json");
  return { keys, secret: (JSON.parse(made) as { secret: string }).secret };
}

async function storm(t: TestContext, site: Site, receiver: Receiver): Promise<void> {
  const { home, services, commands, ledger } = site;
  // Only mounts of these commands: other processes may mount on this machine.
  const mounts = () => hostMounts().filter((mount) => commands.some(({ data }) => mount.includes(data)));
  const mounted = mounts();
  const { keys, secret } = makeKeys(home, receiver);
  const allReady = async () => {
    for (const one of services) while (!(await one.isReady(keys.reader ?? ""))) await sleep(50);
  };
  await allReady();
  await ledger.witness();
  await sleep(1_000);
  const before = commands.map(remains);
  const load = new Load(
    services.map(({ port }) => port),
    keys,
  );
  t.after(() => load.close());

  const began = performance.now();
  const clients = Object.entries(CLIENTS).flatMap(([key, count]) =>
    Array.from({ length: count }, () =>
      load.client(key, { polls: key !== "limited", pauseMs: key === "big" || key === "limited" ? 0 : 100 }),
    ),
  );
  clients.push(load.judging("judged"));
  const limitReached = async () => {
    while (!load.answers["429"]) await sleep(50);
  };
  const killing = kill(site, load)
    .then(async (killed) => {
      await limitReached();
      return killed;
    })
    .finally(() => load.end());
  await Promise.all([...clients, killing]);
  const { killed, serverKilledAt } = await killing;
  const seconds = (performance.now() - began) / 1000;
  await load.settle((key) => (key === "limited" ? "reader" : key));
  await allReady();
  t.diagnostic(
    `${load.submitted.size} submissions and ${load.judged.size} judgements in ${seconds.toFixed(0)} s; killed ${JSON.stringify(killed)}; answers ${JSON.stringify(load.answers)}`,
  );

  // A kill ends the runs of a worker and those that it has claimed ahead, eight for each slot.
  await checkSubmissions(t, ledger, load, KILLS * site.slots * 9);
  load.checkOutputs();
  load.checkJudgements();
  const replay = (id: string) => home.piped("/dev/null", "/dev/null", "webhooks", "replay", id);
  await checkDeliveries(t, ledger, load, { receiver, secret, replay });
  checkRate(load, serverKilledAt);
  await checkNothingLeft(commands, before);
  assert.deepEqual(mounts(), mounted);
}

/** Kills at random moments, evenly spread over the submissions. The last submissions run after recovery. */
async function kill({ commands, server }: Site, load: Load) {
  const chance = random(SEED + 1);
  const killed: Record<string, number> = {};
  const serverKilledAt: number[] = [];
  let recovery = Promise.resolve();
  const each = SUBMISSIONS / KILLS;
  for (let count = 0; count < KILLS; ) {
    const moment = (count + chance()) * each;
    while (load.submitted.size < moment) await sleep(5);
    await sleep(chance() * 50);
    // Even a short run kills PostgreSQL once.
    const choice = count === 1 && server ? commands.length * 2 : Math.floor(chance() * (commands.length * 2 + 1));
    const there = commands[Math.floor(choice / 2)];
    const kind = there ? (["service", "launcher"] as const)[choice % 2] : undefined;
    if (there && kind) {
      const [victim] = victims(there, kind);
      if (victim === undefined) continue; // it is being started, or there is none
      process.kill(victim, "SIGKILL");
      const name = kind === "service" && there.launcher() && !("port" in there) ? "worker" : kind;
      killed[name] = (killed[name] ?? 0) + 1;
    } else {
      if (!server) continue;
      await recovery;
      serverKilledAt.push(Date.now());
      await server.kill();
      killed.PostgreSQL = (killed.PostgreSQL ?? 0) + 1;
      const pauseMs = chance() * 1_500;
      recovery = sleep(pauseMs).then(() => server.start());
    }
    count++;
  }
  await recovery;
  while (load.submitted.size < SUBMISSIONS) await sleep(20);
  return { killed, serverKilledAt };
}

async function checkNothingLeft(commands: readonly RealCommand[], before: readonly unknown[]): Promise<void> {
  const now = () => commands.map(remains);
  const same = () => JSON.stringify(now()) === JSON.stringify(before);
  for (const deadline = performance.now() + 60_000; !same() && performance.now() < deadline; ) await sleep(250);
  assert.deepEqual(now(), before);
  const instances = commands.map((one) => one.instance());
  for (const { process: one } of commands) one.kill("SIGTERM");
  for (const { ended, words } of commands) assert.equal(await ended, 0, words());
  for (const instance of instances) assert.deepEqual(groupsOf({ instance }), []);
  for (const { data } of commands) assert.deepEqual(readdirSync(`${data}/run`), []);
}
