import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { hasNetwork } from "../../domain/egress/policy.ts";
import { type Meter, secondsSince } from "../../domain/meter.ts";
import { FileError } from "../../domain/sandboxes/files.ts";
import { beyondCapacity, needsOf, type SandboxHandle, type SandboxHost } from "../../domain/sandboxes/host.ts";
import {
  diskOf,
  newSandbox,
  type Sandbox,
  type SandboxEndReason,
  type SandboxLimits,
  SandboxRefused,
  type SandboxRequest,
  sandboxRequestHash,
} from "../../domain/sandboxes/sandbox.ts";
import type { Snapshot } from "../../domain/sandboxes/snapshot.ts";
import type { Sealer } from "../../domain/sealer.ts";
import type { SandboxCounts } from "../../domain/status.ts";
import type { Caller } from "../../domain/submission.ts";
import type { Egress, SandboxNetwork } from "../../egress/egress-thread.ts";
import { Budget, type Release } from "../../fairness/budget.ts";
import type { Languages } from "../../languages/load.ts";
import type {
  ClaimedSandbox,
  Created,
  LeftSandbox,
  SandboxEnd,
  SandboxQuota,
  TakenOver,
} from "../../store/sandboxes/types.ts";
import type { Store } from "../../store/store.ts";
import type { AccountUse } from "./attachments.ts";
import { type HeldBox, isFull, isImpossible, type SandboxEngine } from "./engine.ts";
import { restoreFiles } from "./files.ts";
import { Pace } from "./pace.ts";
import { LivingSandbox } from "./sandbox.ts";
import { SNAPSHOTS_AT_ONCE, type Snapshots } from "./snapshots.ts";

/** Renewals of leases in the time of a lease: two in a row may fail. */
const RENEWALS_PER_LEASE = 3;
/** Bytes of output a second, and at once after a pause, of all terminals of an account together. */
const ACCOUNT_TERMINALS = [16 * 1_048_576, 4 * 1_048_576] as const;
/** How long a claimed sandbox waits for the service for which it was claimed. */
const BEGIN_MS = 10_000;
/** How often the clocks of the sandboxes are looked at. */
const TICK_MS = 1_000;
/** How long the launcher keeps a sandbox whose process has ended: the default of its option --keep-seconds. */
export const KEEP_MS = 60_000;
/** How long a stop waits for sandboxes that are being made. */
const CREATED_MS = 8_000;
/** How often, and after which pause, a launcher is asked again that is still busy with the end of the earlier process. */
const [FULL_TRIES, FULL_PAUSE_MS] = [20, 500];
/** How many sandboxes are taken over at the same time. */
const TAKEN_AT_ONCE = 8;
/** All sandboxes together are measured at most once in this time, on average, for their histories of usage. */
const MEASURED_EACH_MS = 50;
/** Executions and requests for files at the same time, for each sandbox that the process may have. */
const CONNECTIONS_PER_SANDBOX = 4;
/** The launcher has at least 17 for one sandbox, and at most 1,024 for all. One of each, or as many as there are at once, are for snapshots. */
const [LEAST_CONNECTIONS, MOST_CONNECTIONS] = [16, 1_024 - SNAPSHOTS_AT_ONCE];

export interface SandboxKeeperOptions {
  readonly store: Pick<Store, "sandboxes">;
  readonly engine: SandboxEngine;
  readonly languages: Pick<Languages, "resolve">;
  /** The name of this process in the database, which no earlier process had. */
  readonly worker: string;
  readonly capacity: NonNullable<SandboxHost["capacity"]>;
  readonly snapshots: Snapshots;
  /** The network of sandboxes, if `capacity` has it. */
  readonly egress?: Egress | null;
  /** Memory of this process for the output and the input of executions. */
  readonly bufferBytes: number;
  readonly leaseMs: number;
  /** Seals what the next process needs to take the sandboxes over. */
  readonly sealer: Sealer;
  /** Whether a stop leaves the sandboxes to the launcher, which does not stop as well. */
  readonly leaves: boolean;
  readonly log: Logger;
  readonly meter: Meter;
}

type Environment = Readonly<Record<string, string>>;

/** What is sealed of a sandbox: the secret of its box, and the environment of its executions. */
interface Secrets {
  readonly token: string;
  readonly env: Environment;
  /** The token of its network; null or absent: it has none. */
  readonly network?: string | null;
}

/** What a stored sandbox still needs to begin. */
interface Beginning {
  readonly env: Environment;
  /** The snapshot whose files it begins with. */
  readonly from: Snapshot | null;
}

/** A sandbox that is being claimed, or whose box is being made. */
interface Claimed {
  readonly accountId: string;
  readonly env: PromiseWithResolvers<Environment>;
  readonly made: PromiseWithResolvers<Sandbox>;
}

/** The sandboxes of this process. */
export class SandboxKeeper implements SandboxHost {
  readonly capacity: NonNullable<SandboxHost["capacity"]>;
  readonly #options: SandboxKeeperOptions;
  readonly #living = new Map<string, LivingSandbox>();
  /** Sandboxes whose box is being made. */
  readonly #creating = new Map<string, Promise<unknown>>();
  /** The ends of sandboxes that could not be stored, by their ids. Until they are, these sandboxes count for the quota of their account. */
  readonly #unstored = new Map<string, SandboxEnd>();
  /** Requests for new sandboxes. */
  readonly #requests = new Set<Promise<Sandbox>>();
  /** Claimed sandboxes that wait for the variables of their environment. */
  readonly #claimed = new Map<string, Claimed>();
  /** Called when places or memory may have become free. */
  readonly #onRoom = new Set<() => void>();
  readonly #accounts = new Map<string, AccountUse>();
  readonly #places: Budget;
  readonly #memory: Budget;
  readonly #disks: Budget;
  readonly #connections: Budget;
  readonly #buffers: Budget;
  readonly #ticking: NodeJS.Timeout;
  readonly #renewal: NodeJS.Timeout;
  #renewing: Promise<void> | null = null;
  #isStopping = false;
  /** Whether the sandboxes are left to the next process: none is added any more. */
  #hasLeft = false;

  private constructor(options: SandboxKeeperOptions) {
    this.#options = options;
    this.capacity = options.capacity;
    if (options.capacity.network !== Boolean(options.egress))
      throw new Error("what gives sandboxes a network is missing");
    const { sandboxes, memoryBytes, diskBytes } = options.capacity;
    const shared = { perOwner: "shared", firstIfFree: true } as const;
    this.#places = new Budget({ total: sandboxes, ...shared });
    this.#memory = new Budget({ total: memoryBytes, ...shared });
    this.#disks = new Budget({ total: diskBytes, ...shared });
    this.#connections = new Budget({
      total: Math.min(Math.max(CONNECTIONS_PER_SANDBOX * sandboxes, LEAST_CONNECTIONS), MOST_CONNECTIONS),
      ...shared,
    });
    this.#buffers = new Budget({ total: options.bufferBytes, ...shared });
    this.#ticking = setInterval(() => this.#tick(), TICK_MS);
    this.#renewal = setInterval(() => void this.#renew(), options.leaseMs / RENEWALS_PER_LEASE);
  }

  static start(options: SandboxKeeperOptions): SandboxKeeper {
    return new SandboxKeeper(options);
  }

  /** The machine whose snapshots its sandboxes can begin with. */
  get snapshotStore(): string {
    return this.#options.snapshots.storeId;
  }

  counts(): SandboxCounts {
    const held = {
      sandboxes: this.#places.held,
      memoryBytes: this.#memory.held,
      diskBytes: this.#disks.held,
      connections: this.#connections.held,
    };
    const { egress } = this.#options;
    return { held, most: this.capacity, egress: egress ? { open: egress.open } : null };
  }

  create(request: SandboxRequest, caller: Caller, idempotencyKey: string | null): Promise<Sandbox> {
    const created = this.#create(request, caller, idempotencyKey);
    this.#requests.add(created);
    const done = () => this.#requests.delete(created);
    created.then(done, done);
    return created;
  }

  async #create(request: SandboxRequest, caller: Caller, idempotencyKey: string | null): Promise<Sandbox> {
    if (this.#isStopping) throw new SandboxRefused("sandboxesOff");
    const refusal = beyondCapacity(needsOf(request), this.capacity);
    if (refusal) throw refusal;
    const { store, worker, leaseMs, meter } = this.#options;
    const startedAt = performance.now();
    // A request whose snapshot has been removed since can still be one that is repeated.
    const from = request.from === null ? null : await this.#source(request.from, caller, idempotencyKey !== null);
    const idempotency = idempotencyKey ? { key: idempotencyKey, requestHash: sandboxRequestHash(request) } : null;
    const release = from === "unknown" ? undefined : this.#reserve(caller.accountId, request.limits);
    const sandbox = newSandbox(request, caller, worker, Date.now());
    let isKept = false;
    try {
      if (!release && !idempotency) throw new SandboxRefused("sandboxesFull");
      const created: Created = await store.sandboxes.create({
        sandbox,
        idempotency,
        leaseUntilMs: Date.now() + leaseMs,
        onlyKnown: !release,
      });
      if (created.kind === "unknown" && from === "unknown") throw new SandboxRefused("snapshotNotFound");
      if (created.kind !== "created") return await this.#refusedOrKnown(created, sandbox.worker);
      if (from === "unknown" || !release) throw new Error("a sandbox without a place was stored");
      const making = this.#make(sandbox, Promise.resolve({ env: request.env, from }), created.quota, release);
      isKept = true;
      this.#creating.set(sandbox.id, making);
      const made = await making.finally(() => this.#creating.delete(sandbox.id));
      meter.time("sandboxCreated", {}, secondsSince(startedAt));
      return made;
    } finally {
      if (!isKept) release?.();
    }
  }

  removeSnapshot(id: string, accountId: string): Promise<Snapshot> {
    return this.#options.snapshots.remove(id, accountId);
  }

  /** The snapshot that a sandbox is to begin with. @returns `unknown` if there is none and that need not matter. */
  async #source(id: string, { accountId }: Caller, isRepeatable: boolean): Promise<Snapshot | "unknown"> {
    try {
      return await this.#options.snapshots.find(id, accountId);
    } catch (error) {
      if (isRepeatable && SandboxRefused.is(error, "snapshotNotFound")) return "unknown";
      throw error;
    }
  }

  /** The snapshot that a stored sandbox begins with; null if there is none. @throws SandboxRefused: snapshotNotFound, snapshotElsewhere. */
  async #sourceOf({ from, accountId }: Sandbox): Promise<Snapshot | null> {
    return from === null ? null : await this.#options.snapshots.find(from, accountId);
  }

  async find(id: string, accountId: string): Promise<SandboxHandle> {
    await this.#creating.get(id)?.catch(() => {});
    const living = this.#living.get(id);
    if (living?.sandbox.accountId === accountId) return living;
    const stored = await this.#options.store.sandboxes.get(id, accountId);
    if (!stored) throw new SandboxRefused("sandboxNotFound");
    if (stored.state === "ended")
      throw new SandboxRefused("sandboxEnded", { reason: stored.endReason ?? "worker_lost" });
    // A sandbox of this process that is not known here is one whose end is not stored yet.
    if (stored.worker === this.#options.worker) throw new SandboxRefused("sandboxEnded", { reason: "worker_lost" });
    throw new SandboxRefused("sandboxElsewhere");
  }

  /**
   * Takes over the sandboxes that earlier processes have left in the launcher. Call it before the first request: they count for what this process and
   * accounts may have. Those that cannot be taken over end.
   */
  async takeOver(): Promise<void> {
    const { store, engine, worker, log } = this.#options;
    let left: readonly LeftSandbox[];
    try {
      left = await store.sandboxes.left(await unlessFull(() => engine.launcher()), worker);
    } catch (error) {
      // A launcher that does not run has no sandboxes.
      log.warn({ err: error }, "no sandbox can be taken over");
      return;
    }
    const waiting = left[Symbol.iterator]();
    const takeSome = async () => {
      for (const one of waiting) await this.#takeOver(one);
    };
    await Promise.all(Array.from({ length: TAKEN_AT_ONCE }, takeSome));
    if (left.length > 0) log.info({ found: left.length, taken: this.#living.size }, "sandboxes taken over");
  }

  async #takeOver({ sandbox: { id, worker: from, accountId, limits }, sealed, isLeft }: LeftSandbox): Promise<void> {
    const { store, engine, egress, worker, leaseMs, sealer, log } = this.#options;
    const taken = await store.sandboxes.takeOver({ id, from, to: worker, leaseUntilMs: Date.now() + leaseMs });
    if (!taken) return; // it has ended, or another process has it
    const { sandbox, quota, executions: earlier, leased } = taken;
    let box: HeldBox | null = null;
    let network: SandboxNetwork | null = null;
    const release = this.#hold(accountId, limits);
    try {
      if (!release) throw new Error("this process may have fewer sandboxes than the earlier one");
      const { token, env, network: networkToken = null } = JSON.parse(sealer.open(id, sealed)) as Secrets;
      // Where the operator has switched networks off since, there is no proxy, and nothing can be reached.
      if (networkToken !== null && egress)
        network = await egress.register({
          ...networkOf(sandbox),
          token: networkToken,
          used: leased,
          isTakenOver: true,
        });
      box = await unlessFull(() => engine.rejoin(token, limits, networkToken));
      if (box.controlsMissing.length > 0) throw new Error(`controls are missing: ${box.controlsMissing.join("; ")}`);
      if (sandbox.state === "running") await box.resume();
      this.#adopt({ sandbox, box, network, env, quota, release, earlier });
    } catch (error) {
      log.error({ err: error, sandbox: id }, "a sandbox could not be taken over");
      await network?.close();
      await box?.end().catch((lost: unknown) => log.error({ err: lost, sandbox: id }, "a box was not removed"));
      release?.();
      await this.#endUnbegun(id, isLeft ? "shutdown" : "worker_lost");
    }
  }

  /**
   * Claims sandboxes that wait for a process, in their order, as far as there is room for them, and begins to make their boxes. One that begins with a
   * snapshot is claimed only where that is. Call it after `takeOver`: sandboxes that live have the room first.
   * @param services those that can ask this process for them.
   */
  async claim(services: readonly string[]): Promise<void> {
    const { store, worker, leaseMs } = this.#options;
    if (this.#isStopping || services.length === 0) return;
    for (const { id, accountId, limits, hasNetwork } of await store.sandboxes.waiting(services, this.snapshotStore)) {
      if (beyondCapacity({ limits, hasNetwork }, this.capacity)) continue;
      const release = this.#isStopping ? undefined : this.#reserve(accountId, limits);
      if (!release) continue; // another account, or one that needs less memory, can have room
      // Known before the claim is: the service can hear of it, and ask, before the answer of the database arrives here.
      const expected = this.#expect(id, accountId);
      let claimed: ClaimedSandbox | null = null;
      try {
        claimed = await store.sandboxes.claim(id, worker, Date.now() + leaseMs);
      } finally {
        if (!claimed) {
          release();
          this.#claimed.delete(id);
          expected.made.reject(new SandboxRefused("sandboxNotFound"));
        }
      }
      if (claimed) this.#makeClaimed(claimed, release, expected);
    }
  }

  /**
   * A place, memory and a connection for the run of a submission in a sandbox of its own, which counts for its account like every other sandbox.
   * @returns undefined if there is no room for it now.
   */
  reserveRun(accountId: string, limits: SandboxLimits): Release | undefined {
    const connection = this.#isStopping ? undefined : this.#connections.take(accountId, 1);
    const place = connection && this.#reserve(accountId, limits);
    if (connection && place)
      return () => {
        connection();
        place(); // last, because it tells those that wait
      };
    connection?.();
    return undefined;
  }

  /** Calls the listener when there may be room for another sandbox. @returns a function that ends the subscription. */
  onRoom(listener: () => void): () => void {
    this.#onRoom.add(listener);
    return () => this.#onRoom.delete(listener);
  }

  /** LinkedHost.begin of src/link/methods.ts. */
  async begin(id: string, accountId: string, env: Environment): Promise<Sandbox> {
    const claimed = this.#claimed.get(id);
    if (claimed?.accountId !== accountId) throw new SandboxRefused("sandboxNotFound");
    claimed.env.resolve(env);
    return await claimed.made.promise;
  }

  #expect(id: string, accountId: string): Claimed {
    const expected: Claimed = { accountId, env: Promise.withResolvers(), made: Promise.withResolvers() };
    // Nobody may have asked when one of them fails.
    expected.env.promise.catch(() => {});
    expected.made.promise.catch(() => {});
    this.#claimed.set(id, expected);
    return expected;
  }

  #makeClaimed({ sandbox, quota }: ClaimedSandbox, release: Release, expected: Claimed): void {
    const { id } = sandbox;
    const { meter } = this.#options;
    const startedAt = performance.now();
    const late = setTimeout(() => abandon(expected), BEGIN_MS);
    const beginning = expected.env.promise.then(async (env) => ({ env, from: await this.#sourceOf(sandbox) }));
    beginning.catch(() => {}); // making it fails
    const making = this.#make(sandbox, beginning, quota, release);
    this.#creating.set(id, making);
    this.#requests.add(making);
    const done = () => {
      clearTimeout(late);
      this.#creating.delete(id);
      this.#requests.delete(making);
    };
    making.then(
      (made) => {
        done();
        meter.time("sandboxCreated", {}, secondsSince(startedAt));
        this.#claimed.delete(id);
        expected.made.resolve(made);
      },
      (error: unknown) => {
        done();
        expected.made.reject(error);
        // The service that asks a little later hears why.
        setTimeout(() => this.#claimed.delete(id), BEGIN_MS).unref();
      },
    );
  }

  /** Refuses new sandboxes, and ends all, or leaves them to the next process. It resolves when that is durable. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#ticking);
    for (const claimed of this.#claimed.values()) abandon(claimed);
    const { leaves, store, worker, log } = this.#options;
    const created = Promise.allSettled(this.#requests);
    // One that begins with a large snapshot is not ready in time. It then ends with the connection of this process.
    await (leaves ? Promise.race([created, sleep(CREATED_MS, undefined, { ref: false })]) : created);
    this.#hasLeft = leaves;
    const living = [...this.#living.values()];
    await Promise.all(living.map((one) => (leaves ? one.leave() : one.endFor("shutdown"))));
    // Until here, the leases are renewed, so that no other process ends what this one is about to leave.
    clearInterval(this.#renewal);
    await this.#renewing;
    if (!leaves) return;
    await store.sandboxes
      .leave(worker, Date.now() + KEEP_MS)
      .catch((error: unknown) => log.error({ err: error }, "it was not stored that sandboxes were left"));
  }

  /** A place, memory and a disk that an account has already, whatever its share would be now; undefined if this process may not have so much. */
  #hold(accountId: string, limits: SandboxLimits): Release | undefined {
    const needs = this.#needs(limits);
    if (needs.some(([budget, amount, most]) => budget.held + amount > most)) return undefined;
    return this.#released(needs.map(([budget, amount]) => budget.hold(accountId, amount)));
  }

  /** What a sandbox takes of each budget, which has so much in total. */
  #needs(limits: SandboxLimits): (readonly [budget: Budget, amount: number, most: number])[] {
    const { sandboxes, memoryBytes, diskBytes } = this.capacity;
    const disk = diskOf(limits);
    return [
      [this.#places, 1, sandboxes],
      [this.#memory, limits.memoryBytes, memoryBytes],
      ...(disk > 0 ? ([[this.#disks, disk, diskBytes]] as const) : []),
    ];
  }

  #released(held: readonly Release[]): Release {
    return () => {
      for (const one of held) one();
      for (const listener of this.#onRoom) listener();
    };
  }

  /** A place, memory and a disk for a sandbox of the account; undefined if there is none for it now. */
  #reserve(accountId: string, limits: SandboxLimits): Release | undefined {
    const taken: Release[] = [];
    for (const [budget, amount] of this.#needs(limits)) {
      const release = budget.take(accountId, amount);
      if (!release) {
        for (const one of taken) one();
        return undefined;
      }
      taken.push(release);
    }
    return this.#released(taken);
  }

  async #refusedOrKnown(created: Exclude<Created, { kind: "created" }>, worker: string): Promise<Sandbox> {
    switch (created.kind) {
      case "duplicate": {
        // The first request may still be waiting for its box.
        const { id, accountId } = created.sandbox;
        if (created.sandbox.worker !== worker) return created.sandbox;
        await this.#creating.get(id)?.catch(() => {});
        return (await this.#options.store.sandboxes.get(id, accountId)) ?? created.sandbox;
      }
      case "conflict":
        throw new SandboxRefused("idempotencyConflict");
      case "quota":
        throw new SandboxRefused("sandboxQuota", { what: created.what, most: created.most });
      case "network":
        throw new SandboxRefused("networkForbidden", { reason: created.reason });
      case "revoked":
        throw new SandboxRefused("keyRevoked");
      case "suspended":
        throw new SandboxRefused("accountSuspended");
      case "unknown":
        throw new SandboxRefused("sandboxesFull");
    }
  }

  /** Makes the box of a stored sandbox. @param release is called when the sandbox has ended. */
  async #make(
    sandbox: Sandbox,
    beginning: Promise<Beginning>,
    quota: SandboxQuota,
    release: Release,
  ): Promise<Sandbox> {
    const { store, engine, egress, worker, sealer, log } = this.#options;
    let box: HeldBox | null = null;
    let network: SandboxNetwork | null = null;
    try {
      if (hasNetwork(sandbox.network)) {
        if (!egress) throw new SandboxRefused("networkOff");
        // Before there is a relay that could ask for it.
        network = await egress.register({ ...networkOf(sandbox), token: newToken(), used: { up: 0, down: 0 } });
      }
      const networkToken = network?.token ?? null;
      box = await engine.hold(sandbox.limits, sandbox.accountId, networkToken);
      const { controls, controlsMissing, token, launcher } = box;
      if (controlsMissing.length > 0) throw new Error(`controls are missing: ${controlsMissing.join("; ")}`);
      const { env, from } = await beginning;
      const secrets: Secrets = { token, env, network: networkToken };
      if (from) await this.#restore(box, sandbox, from);
      const running = await store.sandboxes.update(sandbox.id, worker, {
        state: "running",
        startedAtMs: Date.now(),
        evidence: { controls, controlsMissing, teardown: null },
        kept: { launcher, sealed: sealer.seal(sandbox.id, JSON.stringify(secrets)) },
      });
      if (!running) throw new Error("the sandbox was ended before its box was ready");
      if (this.#hasLeft) throw new Error("this process has left its sandboxes to the next one");
      box.keep(); // not before its token is stored: nobody could take it over
      const living = this.#adopt({ sandbox: running, box, network, env, quota, release });
      // The bound can have been narrowed meanwhile.
      await living.applyNetwork(running.network);
      return running;
    } catch (error) {
      // Any client can bring about that the files of a snapshot do not fit.
      const level =
        SandboxRefused.is(error, "snapshotTooLarge") || SandboxRefused.is(error, "snapshotNotFound") ? "info" : "error";
      log[level]({ err: error, sandbox: sandbox.id }, "the box of a sandbox could not be made");
      await box?.end().catch((lost: unknown) => log.error({ err: lost, sandbox: sandbox.id }, "a box was not removed"));
      await network?.close();
      await this.#endUnbegun(sandbox.id, "failed").finally(release);
      if (isImpossible(error)) throw new SandboxRefused("sandboxesOff");
      throw isFull(error) ? new SandboxRefused("sandboxesFull") : error;
    }
  }

  /** Ends a sandbox that does not live in this process. */
  async #endUnbegun(id: string, reason: SandboxEndReason): Promise<void> {
    const { store, worker, log, meter } = this.#options;
    const end: SandboxEnd = { reason, endedAtMs: Date.now(), evidence: null };
    try {
      if (await store.sandboxes.end(id, worker, end)) meter.count("sandboxesEnded", { reason });
    } catch (error) {
      log.error({ err: error, sandbox: id }, "the end of a sandbox was not stored");
      this.#unstored.set(id, end);
    }
  }

  /** Gives a new box the files of a snapshot. @throws SandboxRefused: snapshotTooLarge, snapshotDamaged, snapshotNotFound, snapshotsFull. */
  async #restore(box: HeldBox, { accountId, limits }: Sandbox, from: Snapshot): Promise<void> {
    const { snapshots } = this.#options;
    const place = await snapshots.place(accountId);
    try {
      await restoreFiles(box, limits, snapshots.read(from));
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      if (error.code === "noSpace") throw new SandboxRefused("snapshotTooLarge", { limit: "disk or inodes" });
      const { oomKills } = await box.measure();
      if (oomKills > 0) throw new SandboxRefused("snapshotTooLarge", { limit: "memory" });
      throw error;
    } finally {
      place();
    }
  }

  #adopt({
    sandbox,
    box,
    network,
    env,
    quota,
    release,
    earlier = [],
  }: {
    readonly sandbox: Sandbox;
    readonly box: HeldBox;
    readonly network: SandboxNetwork | null;
    readonly env: Environment;
    readonly quota: SandboxQuota;
    readonly release: Release;
    readonly earlier?: TakenOver["executions"];
  }): LivingSandbox {
    const { store, languages, log, meter } = this.#options;
    const account = this.#accounts.get(sandbox.accountId) ?? {
      running: 0,
      most: quota.executions,
      idle: new Set(),
      freed: Promise.withResolvers(),
      freeingUntilMs: 0,
      terminals: new Pace(...ACCOUNT_TERMINALS),
    };
    account.most = quota.executions;
    this.#accounts.set(sandbox.accountId, account);
    const living = new LivingSandbox({
      sandbox,
      earlier,
      env,
      box,
      network,
      store,
      languages,
      account,
      connections: this.#connections,
      snapshots: this.#options.snapshots,
      buffers: this.#buffers,
      log,
      meter,
      onFull: () => {
        for (const other of this.#living.values()) other.closeIdle();
      },
      onEnded: (unstored) => {
        if (unstored) this.#unstored.set(sandbox.id, unstored);
        this.#living.delete(sandbox.id);
        release();
        const isLast = ![...this.#living.values()].some((other) => other.sandbox.accountId === sandbox.accountId);
        if (isLast && account.running === 0) this.#accounts.delete(sandbox.accountId);
      },
    });
    this.#living.set(sandbox.id, living);
    return living;
  }

  #tick(): void {
    const [nowMs, steadyMs] = [Date.now(), performance.now()];
    const leastStepMs = this.#living.size * MEASURED_EACH_MS;
    for (const living of this.#living.values())
      living.tick(nowMs, steadyMs, leastStepMs).catch((error: unknown) => {
        if (error instanceof SandboxRefused) return; // it has ended meanwhile
        this.#options.log.error(
          { err: error, sandbox: living.sandbox.id },
          "the clocks of a sandbox could not be read",
        );
      });
  }

  /** Renews the leases of all sandboxes, and ends those that are lost or whose account is suspended. */
  #renew(): Promise<void> {
    if (this.#living.size + this.#creating.size + this.#unstored.size === 0) return Promise.resolve();
    this.#renewing ??= this.#renewOnce().finally(() => {
      this.#renewing = null;
    });
    return this.#renewing;
  }

  async #renewOnce(): Promise<void> {
    const { store, worker, leaseMs, log, meter } = this.#options;
    const before = [...this.#living.values()];
    try {
      for (const [id, end] of this.#unstored) {
        if (await store.sandboxes.end(id, worker, end)) meter.count("sandboxesEnded", { reason: end.reason });
        this.#unstored.delete(id);
      }
      const renewed = await store.sandboxes.renew(worker, Date.now() + leaseMs);
      const known = new Map(renewed.map((one) => [one.id, one]));
      for (const living of before) {
        const own = known.get(living.sandbox.id);
        const account = this.#accounts.get(living.sandbox.accountId);
        if (own && account) account.most = own.quota.executions;
        if (own)
          living.renewNetwork(own.networkVersion).catch((error: unknown) => {
            log.error({ err: error, sandbox: own.id }, "the policy of a network could not be read");
          });
        const reason: SandboxEndReason | null = !own ? "worker_lost" : own.isSuspended ? "suspended" : null;
        if (reason) void living.endFor(reason);
      }
    } catch (error) {
      log.error({ err: error }, "the leases of sandboxes could not be renewed");
    }
  }
}

/** What its proxy must know of a sandbox. */
function networkOf({ id, accountId, projectId, network }: Sandbox) {
  return { sandboxId: id, accountId, projectId, policy: network };
}

/** A token as the launcher takes it (HOLD_NETWORK). */
export function newToken(): string {
  return randomBytes(16).toString("hex");
}

/** Lets a claimed sandbox fail, unless its service has begun it. */
function abandon({ env }: Claimed): void {
  env.reject(new Error("the service did not begin the sandbox"));
}

/** Asks a launcher that may be full for a moment, because the connections of an earlier process have just closed. */
export async function unlessFull<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++)
    try {
      return await ask();
    } catch (error) {
      if (tries === FULL_TRIES || !isFull(error)) throw error;
      await sleep(FULL_PAUSE_MS);
    }
}

/** The host of a process without sandboxes. */
export const NO_SANDBOXES: SandboxHost = {
  capacity: null,
  create: () => Promise.reject(new SandboxRefused("sandboxesOff")),
  find: () => Promise.reject(new SandboxRefused("sandboxesOff")),
  removeSnapshot: () => Promise.reject(new SandboxRefused("sandboxesOff")),
};
