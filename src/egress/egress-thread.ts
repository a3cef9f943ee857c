import { rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Cidr } from "../domain/egress/cidr.ts";
import type { EgressHost, EgressRecord, SandboxEgressRecord } from "../domain/egress/egress-record.ts";
import type { VersionedPolicy } from "../domain/egress/policy.ts";
import type { Meter } from "../domain/meter.ts";
import { addToSums, EgressLog } from "./log.ts";
import type { CallName, Calls, Direction, StepState, UpDown } from "./messages.ts";
import { ProxyThread, type Requested, ThreadLost } from "./proxy-thread.ts";

/*
 * The network of the sandboxes of this process: their proxy, which runs in a thread of its own (thread.ts), the budgets that it leases from the database, and
 * the steps by which it knows to which execution a connection belongs.
 *
 * If the thread dies, all connections end, because their sockets were the thread's, and new ones are refused until another thread knows the sandbox again.
 * Of its leases, everything counts as used then.
 */

/** The name of the proxy's socket in the directory of the launcher's option --egress. */
export const EGRESS_SOCKET = "egress.sock";

/** How long the end of an execution waits for its connections to close. */
const CLOSED_MS = 250;
/** How often it is stored what was reached, by host. */
const HOSTS_EACH_MS = 60_000;
/** The pauses before a thread is started again, doubled after each failure. */
const [LEAST_PAUSE_MS, MOST_PAUSE_MS] = [50, 5_000];
/** How long a call waits for another thread. */
const THREAD_MS = 5_000;
/** How long a stop waits for the thread to end by itself. */
const STOP_MS = 5_000;
const DIRECTIONS = ["up", "down"] as const satisfies readonly Direction[];

/** What the network of sandboxes needs of the database (src/store/egress). */
export interface EgressLedger {
  /** @returns at most the bytes that were wanted; 0 if a budget is used up. */
  lease(request: {
    readonly sandboxId: string;
    readonly worker: string;
    readonly direction: Direction;
    readonly wanted: number;
  }): Promise<{ readonly bytes: number; readonly day: string }>;
  giveBack(unused: {
    readonly sandboxId: string;
    readonly direction: Direction;
    readonly day: string;
    readonly unused: number;
  }): Promise<void>;
  addHosts(counts: {
    readonly accountId: string;
    readonly projectId: string | null;
    readonly hosts: readonly EgressHost[];
  }): Promise<void>;
}

export interface EgressOptions {
  /** The path of the proxy's socket, in a directory that only the relays of sandboxes and this process can enter. */
  readonly path: string;
  /** Networks that sandboxes may reach although they are not public. */
  readonly privateNetworks: readonly Cidr[];
  /** `ADDRESS:PORT` of name servers; by default, those of the system. */
  readonly nameServers?: readonly string[];
  readonly ledger: EgressLedger;
  /** The name of this process in the database. */
  readonly worker: string;
  readonly log: Logger;
  readonly meter: Meter;
  /** How often it is stored what was reached, if not the default. */
  readonly hostsEachMs?: number;
}

export interface NetworkRegistration {
  /** 32 hexadecimal digits, random and secret. */
  readonly token: string;
  readonly sandboxId: string;
  readonly accountId: string;
  readonly projectId: string | null;
  readonly policy: VersionedPolicy;
  /** What was used of the budgets before. */
  readonly used: UpDown;
  /** Whether an earlier process has had the sandbox. What it logged is not known here. */
  readonly isTakenOver?: boolean;
}

/** A step that the launcher is about to run (messages.ts, `StepState`). */
export interface NetworkStep {
  begun(cgroupId: bigint): void;
  /** It has ended, or could not begin. */
  over(): void;
}

/** The proxies of the sandboxes of this process. */
export class Egress {
  readonly #options: EgressOptions;
  readonly #networks = new Map<string, SandboxNetwork>();
  readonly #flushing: NodeJS.Timeout;
  #thread: Promise<ProxyThread>;
  #open = 0;
  #isStopping = false;

  private constructor(options: EgressOptions) {
    this.#options = options;
    this.#thread = this.#begin();
    this.#flushing = setInterval(() => {
      for (const network of this.#networks.values()) void network.storeHosts();
    }, options.hostsEachMs ?? HOSTS_EACH_MS);
    this.#flushing.unref();
  }

  /** @throws if the socket cannot be made. */
  static async start(options: EgressOptions): Promise<Egress> {
    const egress = new Egress(options);
    const first = await egress.#thread.catch(async (error: unknown) => {
      clearInterval(egress.#flushing);
      throw error;
    });
    egress.#restartAfter(first);
    return egress;
  }

  /** The connections of sandboxes that are open. */
  get open(): number {
    return this.#open;
  }

  /** Opens the network of a sandbox, as far as its policy says. Call it before the launcher makes the sandbox, or takes it over. */
  async register(registration: NetworkRegistration): Promise<SandboxNetwork> {
    const { token } = registration;
    if (this.#networks.has(token)) throw new Error("the token of this network is in use");
    const network = new SandboxNetwork(registration, {
      ...this.#options,
      thread: () => this.#current(),
      closed: () => this.#networks.delete(token),
    });
    this.#networks.set(token, network);
    try {
      await this.#serve(network);
      return network;
    } catch (error) {
      this.#networks.delete(token);
      throw error;
    }
  }

  /** Ends all connections and the thread. What is leased of networks that are not closed counts as used. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#flushing);
    const thread = await this.#thread.catch(() => null);
    thread?.post({ kind: "stop" });
    await Promise.race([thread?.ended, sleep(STOP_MS, undefined, { ref: false })]);
    await thread?.terminate();
  }

  /** Lets the thread that runs serve a network. One that dies meanwhile is replaced by one that serves all networks. */
  async #serve(network: SandboxNetwork): Promise<void> {
    try {
      await network.serve(await this.#current());
    } catch (error) {
      if (!(error instanceof ThreadLost)) throw error;
      await this.#current();
    }
  }

  /** The thread that runs, after a wait for the next one if it has just died. @throws if there is none in time. */
  async #current(): Promise<ProxyThread> {
    const late = new AbortController();
    try {
      return await Promise.race([
        this.#thread,
        sleep(THREAD_MS, undefined, { signal: late.signal, ref: false }).then(() => {
          throw new Error("the proxy of sandboxes does not run");
        }),
      ]);
    } finally {
      late.abort();
    }
  }

  async #begin(): Promise<ProxyThread> {
    const { path, privateNetworks, nameServers = null, log, meter } = this.#options;
    await rm(path, { force: true }); // of a process that was killed
    const thread: ProxyThread = await ProxyThread.start(
      { path, privateNetworks, nameServers },
      {
        requested: (request) => void this.#lend(thread, request),
        traffic: ({ over, bytes, open }) => {
          this.#open = open;
          for (const [how, count] of Object.entries(over))
            meter.count("egressConnections", { outcome: how as keyof typeof over }, count);
          for (const direction of DIRECTIONS)
            if (bytes[direction] > 0) meter.count("egressBytes", { direction }, bytes[direction]);
        },
        trouble: (message) => log.warn({ why: message }, "the proxy of sandboxes has closed a connection"),
      },
    );
    return thread;
  }

  /** Starts another thread when this one ends. */
  #restartAfter(thread: ProxyThread): void {
    void thread.ended.then((error) => {
      this.#open = 0;
      if (this.#isStopping) return;
      const { log, meter } = this.#options;
      log.error(
        { err: error },
        "the proxy of sandboxes has ended; all of their connections are closed, and it is started again",
      );
      meter.count("egressRestarts", {});
      for (const network of this.#networks.values()) network.lost();
      this.#thread = this.#again();
      this.#thread.then(
        (next) => this.#restartAfter(next),
        () => {}, // stopped
      );
    });
  }

  /** A thread that knows all sandboxes. It is tried again until the process stops. */
  async #again(): Promise<ProxyThread> {
    for (let pauseMs = LEAST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MOST_PAUSE_MS)) {
      await sleep(pauseMs, undefined, { ref: false });
      if (this.#isStopping) throw new Error("the proxy of sandboxes is stopped");
      let thread: ProxyThread | null = null;
      try {
        thread = await this.#begin();
        for (const network of [...this.#networks.values()]) await network.serve(thread);
        return thread;
      } catch (error) {
        this.#options.log.error({ err: error }, "the proxy of sandboxes could not be started again");
        await thread?.terminate();
      }
    }
  }

  /** Leases bytes for the thread, or gives some back. */
  async #lend(thread: ProxyThread, request: Requested): Promise<void> {
    const { id, token, direction } = request;
    const { ledger, worker, log, meter } = this.#options;
    const network = this.#networks.get(token);
    try {
      if (!network) throw new Error("no network with this token is registered");
      const { sandboxId } = network;
      if (request.kind === "lease") {
        const lease = await ledger.lease({ sandboxId, worker, direction, wanted: request.wanted });
        network.leased(direction, lease.bytes);
        thread.post({ kind: "lent", id, lease: { bytes: lease.bytes, day: lease.day } });
      } else {
        const { day, unused } = request;
        await ledger.giveBack({ sandboxId, direction, day, unused });
        network.leased(direction, -unused);
        thread.post({ kind: "takenBack", id });
      }
    } catch (error) {
      // Its message can name the database, so the record of a sandbox does not have it.
      log.warn(
        { err: error, sandbox: network?.sandboxId, direction },
        "bytes of a network could not be leased or given back",
      );
      meter.count("egressLeaseFailures", { kind: request.kind === "lease" ? "lease" : "give_back" });
      thread.post({ kind: "lenderFailed", id });
    }
  }
}

interface NetworkOptions extends Pick<EgressOptions, "ledger" | "log"> {
  /** The thread that serves all networks now. */
  readonly thread: () => Promise<ProxyThread>;
  readonly closed: () => void;
}

/** The network of one sandbox. */
export class SandboxNetwork {
  readonly sandboxId: string;
  readonly #registration: NetworkRegistration;
  readonly #options: NetworkOptions;
  #policy: VersionedPolicy;
  /** What counts as used, with everything that is leased now. */
  readonly #leased: { -readonly [Key in Direction]: number };
  /** The steps that are about to begin, or whose execution was not taken yet. */
  readonly #steps = new Map<number, StepState>();
  #lastStep = 0;
  #served: ProxyThread | null = null;
  /** The executions whose log was lost in part with a thread; null: that of the sandbox. */
  readonly #damaged = new Set<number | null>();
  /** What was reached and could not be stored, by host. */
  #unstored = new Map<string, EgressHost>();
  #isClosed = false;

  constructor(registration: NetworkRegistration, options: NetworkOptions) {
    this.#registration = registration;
    this.#options = options;
    this.sandboxId = registration.sandboxId;
    this.#policy = registration.policy;
    this.#leased = { ...registration.used };
    if (registration.isTakenOver) this.#damaged.add(null);
  }

  get token(): string {
    return this.#registration.token;
  }

  /** The policy that holds. */
  get policy(): VersionedPolicy {
    return this.#policy;
  }

  /**
   * Replaces the policy. When this resolves, it holds for everything that is decided, and connections that it does not allow are ended.
   * @throws if its version is not higher.
   */
  async replacePolicy(policy: VersionedPolicy): Promise<void> {
    if (policy.version <= this.#policy.version)
      throw new Error(`version ${policy.version} of the policy does not follow ${this.#policy.version}`);
    this.#policy = policy;
    try {
      await this.#served?.call("policy", this.#registration.token, { policy });
    } catch (error) {
      if (!(error instanceof ThreadLost)) throw error; // nothing is open now, and the next thread begins with this policy
    }
  }

  /**
   * Says that the launcher is about to run a step. Call it before the launcher hears of the step.
   * @param execution null: a step of the platform.
   */
  step(execution: number | null): NetworkStep {
    const step = ++this.#lastStep;
    const tell = (state: StepState) => {
      this.#steps.set(step, state);
      this.#served?.post({ kind: "step", token: this.#registration.token, state });
    };
    tell({ step, execution, cgroupId: null });
    let isOver = false;
    return {
      begun: (cgroupId) => {
        if (!isOver) tell({ step, execution, cgroupId });
      },
      over: () => {
        isOver = true;
        const known = this.#steps.get(step);
        // The cgroup of an execution stays known until its record is taken.
        if (known && (known.cgroupId === null || execution === null)) this.#steps.delete(step);
        this.#served?.post({ kind: "stepOver", token: this.#registration.token, step });
      },
    };
  }

  /** The record of an execution as of now; with null, of what belongs to no execution. */
  record(execution: number | null): Promise<EgressRecord> {
    return this.#recordBy(execution, () => this.#call("record", { execution }));
  }

  /**
   * The record of an execution that has ended, which is then forgotten: what its processes still do belongs to the sandbox. It never rejects.
   * @param isWaiting whether no process of it is left, so that its open connections are about to close.
   */
  async take(execution: number, isWaiting: boolean): Promise<EgressRecord> {
    const args = { execution, waitMs: isWaiting ? CLOSED_MS : 0 };
    const record = await this.#recordBy(execution, () => this.#call("take", args));
    for (const [step, state] of this.#steps) if (state.execution === execution) this.#steps.delete(step);
    this.#damaged.delete(execution);
    return record;
  }

  /** What the sandbox as a whole has reached. It never rejects. */
  async totals(): Promise<SandboxEgressRecord> {
    const unattributed = await this.record(null);
    try {
      const { policyVersion, budgetLeft, ...totals } = await this.#call("totals", null);
      return {
        ...totals,
        hosts: [...totals.hosts],
        policy_version: policyVersion,
        budget_left: budgetLeft,
        complete: !this.#damaged.has(null),
        unattributed,
      };
    } catch (error) {
      this.#warn(error, "what a sandbox reached is not known");
      const { policy_version, budget_left, denied, dns } = unattributed;
      const { up: bytes_up, down: bytes_down } = this.#leased;
      return {
        policy_version,
        budget_left,
        denied,
        dns,
        bytes_up,
        bytes_down,
        hosts: [],
        complete: false,
        unattributed,
      };
    }
  }

  /** Ends the network, stores what was reached, and gives back what is leased. It never rejects. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.storeHosts();
    try {
      await this.#served?.call("close", this.#registration.token, null);
    } catch (error) {
      this.#warn(error, "the leased bytes of a sandbox were not given back, and count as used");
    } finally {
      this.#options.closed();
    }
  }

  /** Stores what was reached since the last call, by host. It never rejects. */
  async storeHosts(): Promise<void> {
    const { accountId, projectId } = this.#registration;
    const sums = this.#unstored;
    this.#unstored = new Map();
    try {
      const fresh = await this.#served?.call("hosts", this.#registration.token, null);
      for (const host of fresh ?? []) addToSums(sums, host);
      if (sums.size > 0) await this.#options.ledger.addHosts({ accountId, projectId, hosts: [...sums.values()] });
    } catch (error) {
      for (const host of sums.values()) addToSums(this.#unstored, host);
      this.#warn(error, "what a sandbox reached was not stored");
    }
  }

  /** Lets a thread serve it. @throws ThreadLost, or if the thread fails. */
  async serve(thread: ProxyThread): Promise<void> {
    if (this.#served === thread || this.#isClosed) return;
    this.#served = thread; // what is said from now on comes after this call
    const steps = [...this.#steps.values()];
    await thread.call("register", this.#registration.token, { policy: this.#policy, used: { ...this.#leased }, steps });
  }

  /** Bytes were leased, or given back if the number is negative. */
  leased(direction: Direction, bytes: number): void {
    this.#leased[direction] += bytes;
  }

  /** The thread has died, with what it logged. */
  lost(): void {
    this.#damaged.add(null);
    for (const { execution } of this.#steps.values()) this.#damaged.add(execution);
  }

  /** Asks the thread. If it dies, the next one is asked, which knows the sandbox as well, but not what happened before. */
  async #call<Name extends CallName>(name: Name, args: Calls[Name]["args"]): Promise<Calls[Name]["result"]> {
    const { token } = this.#registration;
    try {
      return await (await this.#options.thread()).call(name, token, args);
    } catch (error) {
      if (!(error instanceof ThreadLost)) throw error;
      return await (await this.#options.thread()).call(name, token, args);
    }
  }

  async #recordBy(execution: number | null, ask: () => Promise<EgressRecord>): Promise<EgressRecord> {
    try {
      const record = await ask();
      return this.#damaged.has(execution) ? { ...record, complete: false } : record;
    } catch (error) {
      this.#warn(error, "what an execution reached is not known");
      const { version, network } = this.#policy;
      const left = (limit: number, direction: Direction) => Math.max(0, limit - this.#leased[direction]);
      const budgetLeft =
        network === "none"
          ? { up: 0, down: 0 }
          : { up: left(network.bytesUp, "up"), down: left(network.bytesDown, "down") };
      return { ...new EgressLog().toRecord(execution, { policyVersion: version, budgetLeft }), complete: false };
    }
  }

  #warn(error: unknown, what: string): void {
    this.#options.log.warn({ err: error, sandbox: this.sandboxId }, what);
  }
}
