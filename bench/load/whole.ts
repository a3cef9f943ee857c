import { availableParallelism, cpus, release } from "node:os";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { installedLanguages } from "../../src/cli/installed-languages.ts";
import { type Bare, barePython } from "./bare.ts";
import { type BenchDatabase, makeDatabase } from "./database.ts";
import type { LoadPlan } from "./generator.ts";
import { digits, type Loaded, type LoadTarget, measure } from "./measure.ts";
import type { LoadMix } from "./mixes.ts";
import { cpuOf, peakBytes, sharedFairlyBytes, tree } from "./processes.ts";
import { seed } from "./seed.ts";
import {
  load,
  makeKeys,
  makePlace,
  noOpSandbox,
  type Place,
  realSandbox,
  type Sandbox,
  startServing,
  type User,
  userOf,
} from "./serving.ts";

export interface Options {
  readonly image: string;
  readonly launcherSocket: string;
  /** A PostgreSQL server on which databases can be created; SQLite if absent. */
  readonly database?: string | undefined;
  readonly seconds: number;
  readonly keys: readonly number[];
  readonly mixes: readonly LoadMix[];
  readonly records: readonly number[];
  /** Numbers of services that share one PostgreSQL database, with the no-op launcher. */
  readonly services: readonly number[];
  readonly tell: (words: string) => void;
}

/** How much storage one record takes, including indexes. */
interface Stored {
  readonly engine: string;
  readonly records: number;
  readonly bytesPerRecord: number;
}

/** The CPU time of a service without clients. */
interface Idle {
  readonly engine: string;
  readonly records: number;
  /** The share of one core that the service uses. */
  readonly serviceShare: number;
  readonly launcherShare: number;
}

/** The memory of a service with a full queue. */
interface Pending {
  readonly engine: string;
  readonly pending: number;
  readonly serviceBytes: number;
  readonly servicePeakBytes: number;
  readonly launcherBytesPerSlot: number;
}

export interface Whole {
  readonly machine: Readonly<Record<string, string | number | null>>;
  /** The floor, measured before all loads. Each load with real boxes also has a floor of its own, because the machine's speed varies. */
  readonly bare: Bare;
  readonly loaded: readonly LoadedBesideBare[];
  readonly stored: readonly Stored[];
  readonly idle: readonly Idle[];
  readonly pending: readonly Pending[];
}

/** The longest warm-up of the connections before each measured load. */
const MOST_WARM_SECONDS = 2;
/**
 * The warm-up of a new service ends after this number of submissions, or of rounds: at first, V8 has not compiled the code of the service,
 * which takes four times the CPU time.
 */
const WARM_SUBMISSIONS = 2_000;
const MOST_WARMING = 6;
/** The number of clients of closed loops, unless there are more keys: so many that the service is never idle. */
const CLIENTS = 64;
/** The number of connections of open loops. */
const CONNECTIONS = 180;
/** The rate of open loops, as a share of the throughput of the closed loop. Queues are then short, so times are those of the work. */
const OPEN_SHARE = 0.6;
/** The floor of a load is measured before and after the load, each time for this share of the load's duration. */
const BARE_SHARE = 0.2;
/** The idle service is measured for as long as this number of loads, so that periodic work of the service is averaged. */
const IDLE_LOADS = 6;
const NO_OP_WORKERS = 32;
/** How many submissions of one account can be pending: half of the default of ASSAY_MAX_PENDING. */
const MAX_PENDING = 1_000;

/** Runs all of `assay bench service`: each sandbox under each load with each number of records. */
export async function measureWhole(options: Options): Promise<Whole> {
  const within = dirname(options.launcherSocket);
  const user = userOf(options.launcherSocket);
  const hello = installedLanguages().resolve("python")?.smokeTest.code ?? "";
  const rows = {
    loaded: [] as LoadedBesideBare[],
    stored: [] as Stored[],
    idle: [] as Idle[],
    pending: [] as Pending[],
  };
  options.tell("bare runs");
  const bare = await barePython(options.image, hello, options.seconds);
  let version: string | null = null;
  for (const [at, records] of options.records.entries()) {
    const place = makePlace(within, user);
    const there = await makeDatabase(options.database, place.directory);
    version = there.version;
    try {
      await new Bench(options, place, there, user, hello, rows).run(records, at === options.records.length - 1);
    } finally {
      await there.drop();
      place.remove();
    }
  }
  const [processor] = cpus();
  const machine = {
    at: new Date().toISOString(),
    cores: availableParallelism(),
    processor: processor?.model ?? null,
    kernel: release(),
  };
  return { machine: { ...machine, node: process.version, postgres: version }, bare, ...rows };
}

/** The results of a load, and its floor. */
export interface LoadedBesideBare extends Loaded {
  /** The mean CPU time of bare runs before and after the load; null with the no-op sandbox, which runs no program. */
  readonly bareCpuMs: number | null;
}

interface Rows {
  readonly loaded: LoadedBesideBare[];
  readonly stored: Stored[];
  readonly idle: Idle[];
  readonly pending: Pending[];
}

/** All measurements with one database. */
class Bench {
  readonly #options: Options;
  readonly #place: Place;
  readonly #there: BenchDatabase;
  readonly #user: User;
  readonly #hello: string;
  readonly #rows: Rows;
  #keys: string[] = [];
  #records = 0;

  constructor(options: Options, place: Place, there: BenchDatabase, user: User, hello: string, rows: Rows) {
    this.#options = options;
    this.#place = place;
    this.#there = there;
    this.#user = user;
    this.#hello = hello;
    this.#rows = rows;
  }

  async run(records: number, last: boolean): Promise<void> {
    const { keys, launcherSocket, services } = this.#options;
    this.#keys = await makeKeys(this.#there, Math.max(...keys));
    this.#place.own();
    const real = realSandbox(launcherSocket, availableParallelism());
    if (records > 0) await this.#seed(real, records);
    await this.#each(real, 1, async (target) => {
      await this.#idle(target);
      await this.#loads(target, keys);
    });
    const noOp = await noOpSandbox(this.#place, this.#user, NO_OP_WORKERS);
    await this.#each(noOp, 1, (target) => this.#loads(target, keys));
    if (last && this.#there.kind === "postgres") {
      for (const many of services) {
        await this.#each(noOp, many, async (target) => {
          await this.#warm(target.services);
          await this.#closed(target, Math.max(...keys), "wait");
        });
      }
    }
    await noOp.stop();
    if (last) await this.#each(real, 1, (target) => this.#pending(target));
  }

  async #each(sandbox: Sandbox, amount: number, work: (target: LoadTarget) => Promise<void>): Promise<void> {
    const services = [];
    for (let at = 0; at < amount; at++) services.push(await startServing(this.#place, this.#there, sandbox));
    try {
      await work({ there: this.#there, sandbox, services, records: this.#records });
    } finally {
      for (const service of services) await service.stop();
    }
  }

  async #seed(real: Sandbox, records: number): Promise<void> {
    await this.#each(real, 1, async ({ services }) => {
      await load(this.#plan(services, this.#keys.length, "wait", { clients: 10 }, 1), async () => {});
    });
    this.#options.tell(`${this.#there.kind}: ${records} records`);
    const before = await this.#there.bytes();
    const from = this.#records;
    this.#records = await seed(this.#there, records);
    this.#place.own();
    const bytes = (await this.#there.bytes()) - before;
    const stored = { engine: this.#there.kind, records: this.#records };
    this.#rows.stored.push({ ...stored, bytesPerRecord: digits(bytes / (this.#records - from)) });
  }

  /**
   * Measures closed loops with the mix `wait` for each number of keys. With the first number of keys, also measures closed loops with the
   * other mixes, and open loops with `wait` and `submit`.
   */
  async #loads(target: LoadTarget, keys: readonly number[]): Promise<void> {
    await this.#warm(target.services);
    for (const amount of keys) {
      const { perSecond } = await this.#closed(target, amount, "wait");
      if (amount !== keys[0]) continue;
      const { mixes } = this.#options;
      for (const mix of ["poll", "submit"] as const) if (mixes.includes(mix)) await this.#closed(target, amount, mix);
      for (const mix of ["wait", "submit"] as const) {
        if (!mixes.includes(mix)) continue;
        const loop = { perSecond: Math.max(1, Math.round(perSecond * OPEN_SHARE)), connections: CONNECTIONS };
        await this.#loaded(target, amount, mix, loop);
      }
    }
  }

  async #warm(services: LoadTarget["services"]): Promise<void> {
    const { seconds } = this.#options;
    const plan = this.#plan(
      services,
      this.#keys.length,
      "wait",
      { clients: Math.max(CLIENTS, this.#keys.length) },
      seconds,
    );
    for (let done = 0, rounds = 0; done < WARM_SUBMISSIONS * services.length && rounds < MOST_WARMING; rounds++) {
      done += (await load(plan, async () => {})).measured.done;
    }
  }

  #closed(target: LoadTarget, keys: number, mix: LoadPlan["mix"]): Promise<Loaded> {
    return this.#loaded(target, keys, mix, { clients: Math.max(CLIENTS, keys) });
  }

  async #loaded(target: LoadTarget, keys: number, mix: LoadPlan["mix"], loop: LoadPlan["loop"]): Promise<Loaded> {
    const [{ kind }, many] = [target.sandbox, target.services.length];
    this.#options.tell(
      `${this.#there.kind}, ${kind}, ${many} service(s), ${target.records} records, ${keys} keys, ${mix}`,
    );
    const plan = this.#plan(target.services, keys, mix, loop);
    const seconds = BARE_SHARE * this.#options.seconds;
    const floor = () => (kind === "real" ? barePython(this.#options.image, this.#hello, seconds) : null);
    const before = await floor();
    const loaded = await measure(target, plan);
    await this.#emptied(target);
    const after = await floor();
    const bareCpuMs = before && after && digits((before.cpuMs + after.cpuMs) / 2);
    this.#rows.loaded.push({ ...loaded, bareCpuMs });
    return loaded;
  }

  /** Waits until the service is idle: submissions for which no client waits may still run after a load. */
  async #emptied({ services, sandbox }: LoadTarget): Promise<void> {
    const pids = [...services.map(({ pid }) => pid), sandbox.pid];
    for (let busy = true; busy; ) {
      const before = cpuOf(pids);
      await sleep(500);
      const after = cpuOf(pids);
      busy = after.ownMs + after.endedMs - before.ownMs - before.endedMs > 50;
    }
  }

  #plan(
    services: LoadTarget["services"],
    keys: number,
    mix: LoadPlan["mix"],
    loop: LoadPlan["loop"],
    seconds?: number,
  ): LoadPlan {
    return {
      ports: services.map(({ port }) => port),
      ca: this.#place.ca,
      keys: this.#keys.slice(0, keys),
      code: this.#hello,
      mix,
      loop,
      warmSeconds: seconds === undefined ? Math.min(MOST_WARM_SECONDS, this.#options.seconds) : 0,
      seconds: seconds ?? this.#options.seconds,
    };
  }

  async #idle(target: LoadTarget): Promise<void> {
    const { sandbox, services, records } = target;
    this.#options.tell(`${this.#there.kind}: idle`);
    await this.#emptied(target);
    const used = () =>
      [cpuOf(services.map(({ pid }) => pid)), cpuOf([sandbox.pid])].map((one) => one.ownMs + one.endedMs);
    const ms = IDLE_LOADS * 1_000 * this.#options.seconds;
    const before = used();
    await sleep(ms);
    const after = used();
    const [serviceShare = 0, launcherShare = 0] = after.map((one, at) => digits((one - (before[at] ?? 0)) / ms));
    this.#rows.idle.push({ engine: this.#there.kind, records, serviceShare, launcherShare });
  }

  /** Measures the memory with a queue that is full of sleeping programs. These are removed with the database. */
  async #pending({ there, sandbox, services }: LoadTarget): Promise<void> {
    this.#options.tell(`${there.kind}: a full queue`);
    const plan = this.#plan(services, this.#keys.length, "submit", { clients: CLIENTS }, 1);
    const sleeping = { ...plan, code: "import time\ntime.sleep(9)\n" };
    for (let full = 0; full === 0; ) {
      const { measured } = await load(sleeping, async () => {});
      full = measured.full;
      const wrong = Object.keys(measured.wrong);
      if (wrong.length > 0) throw new Error(`the queue could not be filled: ${wrong}`);
    }
    const [pid = 0] = services.map((service) => service.pid);
    const launcherBytes = tree([sandbox.pid]).reduce((sum, one) => sum + (sharedFairlyBytes(one) || 0), 0);
    this.#rows.pending.push({
      engine: there.kind,
      pending: MAX_PENDING,
      serviceBytes: sharedFairlyBytes(pid),
      servicePeakBytes: peakBytes(pid),
      launcherBytesPerSlot: Math.round(launcherBytes / (sandbox.workers + 1)),
    });
  }
}
