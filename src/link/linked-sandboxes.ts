import { setTimeout as sleep } from "node:timers/promises";
import { abortAfter } from "../domain/abort-after.ts";
import {
  beyondCapacity,
  needsOf,
  type SandboxCapacity,
  type SandboxHandle,
  type SandboxHost,
} from "../domain/sandboxes/host.ts";
import {
  newSandbox,
  type Sandbox,
  type SandboxRefusalCode,
  SandboxRefused,
  type SandboxRequest,
  sandboxRequestHash,
} from "../domain/sandboxes/sandbox.ts";
import type { Snapshot } from "../domain/sandboxes/snapshot.ts";
import type { Caller } from "../domain/submission.ts";
import type { Store } from "../store/store.ts";
import type { Link } from "./link.ts";
import type { LinkedHost } from "./methods.ts";
import { callRemote, type RemoteOptions, RemoteSandbox, sameSandbox } from "./remote-sandbox.ts";

/** How long a request for a sandbox waits for a process that has room. */
const WAIT_MS = 30_000;
/** How long the process that has claimed a sandbox may take to begin it, besides the files of a snapshot. */
const BEGIN_MS = 20_000;
/** How much longer the row of a waiting sandbox lives without its service. */
const ROW_MS = 30_000;
/** The most sandboxes of other processes whose place is remembered. */
const MOST_KNOWN = 10_000;

/** Where a sandbox is. */
type Place = Pick<Sandbox, "id" | "accountId" | "worker">;

export interface LinkedSandboxesOptions {
  readonly store: Pick<Store, "sandboxes" | "snapshots">;
  readonly link: Pick<Link, "id" | "client" | "hosts">;
  /** The sandboxes of this process; null if it has none. */
  readonly local: (SandboxHost & LinkedHost) | null;
  /** The machine whose snapshots these can begin with; null if there are none. */
  readonly snapshotStore: string | null;
  readonly waitMs?: number;
}

/** Why a process cannot create a sandbox that another one may be able to create. */
const ELSEWHERE: readonly SandboxRefusalCode[] = [
  "sandboxesFull",
  "sandboxCpus",
  "sandboxDisk",
  "networkOff",
  "snapshotElsewhere",
];

/**
 * The sandboxes of all processes of the database. Those of this process are a function call away, the others a call over a link. The row of a
 * sandbox says which process has it.
 */
export class LinkedSandboxes implements SandboxHost {
  readonly #options: LinkedSandboxesOptions;
  readonly #stopping = new AbortController();
  readonly #remote: RemoteOptions;
  /** Whether any process has had sandboxes since the start of this one. */
  #hasKnown = false;
  /** Where sandboxes of other processes were last. A restart of such a process moves them to the next one of its machine. */
  readonly #known = new Map<string, Place>();

  constructor(options: LinkedSandboxesOptions) {
    this.#options = options;
    const { store, link } = options;
    this.#remote = {
      store,
      client: (worker) => link.client(worker),
      ends: new Map(),
      stopping: this.#stopping.signal,
    };
  }

  get capacity(): SandboxHost["capacity"] {
    const { local, link } = this.#options;
    const all = [local?.capacity, ...link.hosts.map(({ capacity }) => capacity)].filter((one) => one != null);
    // A service that has known sandboxes goes on saying how they ended, also when no process has any.
    this.#hasKnown ||= all.length > 0;
    if (!this.#hasKnown) return null;
    const sum = (of: (capacity: (typeof all)[number]) => number) => all.reduce((total, one) => total + of(one), 0);
    return {
      sandboxes: sum((one) => one.sandboxes),
      memoryBytes: sum((one) => one.memoryBytes),
      cpus: Math.max(0, ...all.map(({ cpus }) => cpus)),
      diskBytes: sum((one) => one.diskBytes),
      network: all.some(({ network }) => network),
    };
  }

  async create(request: SandboxRequest, caller: Caller, idempotencyKey: string | null): Promise<Sandbox> {
    const { local, link } = this.#options;
    if (local) {
      try {
        return await local.create(request, caller, idempotencyKey);
      } catch (error) {
        const isElsewhere = error instanceof SandboxRefused && ELSEWHERE.includes(error.code);
        if (!isElsewhere || link.hosts.length === 0) throw error;
      }
    } else if (this.capacity === null) throw new SandboxRefused("sandboxesOff");
    return await this.#createElsewhere(request, caller, idempotencyKey);
  }

  async find(id: string, accountId: string): Promise<SandboxHandle> {
    const { local } = this.#options;
    const known = this.#known.get(id);
    if (known?.accountId === accountId) return await this.#findKnown(known);
    if (!local) return await this.#findAt(await this.#living(id, accountId));
    try {
      return await local.find(id, accountId);
    } catch (error) {
      if (!SandboxRefused.is(error, "sandboxElsewhere")) throw error;
      return await this.#findAt(await this.#living(id, accountId));
    }
  }

  /** A sandbox whose place is remembered. If that is refused, the place is read again: the sandbox can have moved, or have ended. */
  async #findKnown(known: Place): Promise<SandboxHandle> {
    try {
      return await this.#findAt(known);
    } catch (error) {
      if (!(error instanceof SandboxRefused)) throw error;
      const place = await this.#living(known.id, known.accountId);
      if (place.worker === known.worker) throw error;
      return await this.#findAt(place);
    }
  }

  /** The sandbox in the process that its row names. @throws SandboxRefused: sandboxUnreachable, sandboxMoving; sandboxEnded if the row says so. */
  async #findAt(place: Place): Promise<SandboxHandle> {
    const { link, local } = this.#options;
    if (place.worker === "") throw new SandboxRefused("sandboxUnreachable");
    if (place.worker === link.id && local) return await local.find(place.id, place.accountId);
    try {
      const { result } = await callRemote(this.#remote, place, "find", {});
      return new RemoteSandbox(sameSandbox(result, place), this.#remote);
    } catch (error) {
      if (!SandboxRefused.is(error, "sandboxNotFound") && !SandboxRefused.is(error, "sandboxEnded")) throw error;
      // Its row says whether it has ended. If not, its end is not stored yet, or the process is not the one that has it.
      await this.#living(place.id, place.accountId);
      throw new SandboxRefused("sandboxUnreachable");
    }
  }

  /** The place of a sandbox that lives, from its row. @throws SandboxRefused: sandboxNotFound, sandboxEnded. */
  async #living(id: string, accountId: string): Promise<Place> {
    const { store, link } = this.#options;
    const stored = await store.sandboxes.get(id, accountId);
    if (!stored || stored.state === "ended" || stored.worker === link.id) this.#known.delete(id);
    if (!stored) throw new SandboxRefused("sandboxNotFound");
    if (stored.state === "ended")
      throw new SandboxRefused("sandboxEnded", { reason: stored.endReason ?? "worker_lost" });
    return stored.worker === link.id || stored.worker === "" ? stored : this.#remember(stored);
  }

  /**
   * Removes a snapshot, in the process of the machine that has it. If that cannot be reached, the snapshot is removed, and its machine removes the
   * archive later.
   */
  async removeSnapshot(id: string, accountId: string): Promise<Snapshot> {
    const { store, link, local } = this.#options;
    if (this.capacity === null) throw new SandboxRefused("sandboxesOff");
    const snapshot = await store.snapshots.get(id, accountId);
    if (!snapshot) throw new SandboxRefused("snapshotNotFound");
    const host = link.hosts.find(({ snapshotStore }) => snapshotStore === snapshot.storeId);
    if (local && snapshot.storeId === this.#options.snapshotStore) return await local.removeSnapshot(id, accountId);
    if (host) {
      try {
        await callRemote(this.#remote, { id, accountId, worker: host.id }, "removeSnapshot", {});
        return snapshot;
      } catch (error) {
        if (!SandboxRefused.is(error, "sandboxUnreachable")) throw error;
      }
    }
    await store.snapshots.remove(id, accountId);
    return snapshot;
  }

  /** Ends all waits. Requests must have ended before. */
  stop(): void {
    this.#stopping.abort();
  }

  #remember({ id, accountId, worker }: Place): Place {
    const place = { id, accountId, worker };
    this.#known.set(id, place);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST_KNOWN && oldest !== undefined) this.#known.delete(oldest);
    return place;
  }

  /** Asks all processes for a sandbox, by a row of the database, which one of them claims. */
  async #createElsewhere(request: SandboxRequest, caller: Caller, idempotencyKey: string | null): Promise<Sandbox> {
    const { store, link, waitMs = WAIT_MS } = this.#options;
    // A request that nothing can fulfil can still be one that is repeated.
    const refusal = await this.#refusalOf(request, caller);
    if (refusal && idempotencyKey === null) throw refusal;
    const idempotency =
      idempotencyKey === null ? null : { key: idempotencyKey, requestHash: sandboxRequestHash(request) };
    const sandbox = newSandbox(request, caller, "", Date.now());
    const created = await store.sandboxes.create({
      sandbox,
      idempotency,
      leaseUntilMs: Date.now() + waitMs + ROW_MS,
      onlyKnown: refusal !== null,
      service: link.id,
    });
    switch (created.kind) {
      case "created":
        return await this.#begin(sandbox, request);
      case "duplicate":
        return await this.#unlessCreating(created.sandbox);
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
        throw refusal ?? new SandboxRefused("sandboxesFull");
    }
  }

  /** Why no process can ever fulfil a request, whatever room it has; null if one can. */
  async #refusalOf(request: SandboxRequest, { accountId }: Caller): Promise<SandboxRefused | null> {
    const { store, link, local, snapshotStore } = this.#options;
    const { from } = request;
    const needs = needsOf(request);
    const hosts = local?.capacity ? [{ capacity: local.capacity, snapshotStore }, ...link.hosts] : link.hosts;
    if (hosts.length === 0) return new SandboxRefused("sandboxesFull");
    const snapshot = from === null ? null : await store.snapshots.get(from, accountId);
    if (from !== null && !snapshot) return new SandboxRefused("snapshotNotFound");
    const having = snapshot ? hosts.filter((host) => host.snapshotStore === snapshot.storeId) : hosts;
    if (having.length === 0) return new SandboxRefused("snapshotElsewhere");
    const capacities = having.flatMap(({ capacity }) => capacity ?? []);
    if (capacities.some((capacity) => beyondCapacity(needs, capacity) === null)) return null;
    const most = (of: (one: SandboxCapacity) => number) => Math.max(0, ...capacities.map(of));
    const largest = {
      cpus: most(({ cpus }) => cpus),
      diskBytes: most(({ diskBytes }) => diskBytes),
      network: capacities.some(({ network }) => network),
    };
    // If each process lacks another thing, the request fits into none of them, but no single bound says so.
    return beyondCapacity(needs, { ...largest, sandboxes: 0, memoryBytes: 0 }) ?? new SandboxRefused("sandboxesFull");
  }

  /**
   * Waits until a process has claimed the sandbox, and gives it what it needs. Either the sandbox runs and is returned, or it has ended and
   * an error is thrown: which of both is decided by one change of its row.
   */
  async #begin(sandbox: Sandbox, request: SandboxRequest): Promise<Sandbox> {
    const { store, waitMs = WAIT_MS } = this.#options;
    const { id, accountId } = sandbox;
    const placed = await this.#until(sandbox, ({ worker, state }) => worker !== "" || state === "ended", waitMs);
    if (!placed && (await store.sandboxes.giveUp(id, "waiting"))) throw new SandboxRefused("sandboxesFull");
    const claimed = placed ?? (await store.sandboxes.get(id, accountId));
    try {
      if (!claimed || claimed.state === "ended") throw new SandboxRefused("sandboxesFull");
      const running = await this.#beginAt(claimed, request);
      this.#remember(running);
      return running;
    } catch (error) {
      if (await store.sandboxes.giveUp(id, "claimed")) throw error;
      // The sandbox has begun to run although its process did not say so in time, or it has ended.
      const stored = await store.sandboxes.get(id, accountId);
      if (stored && stored.state !== "ended" && stored.state !== "creating") return stored;
      throw error;
    }
  }

  async #beginAt(claimed: Sandbox, { env, from }: SandboxRequest): Promise<Sandbox> {
    const { link, local } = this.#options;
    if (claimed.worker === link.id && local) return await local.begin(claimed.id, claimed.accountId, env);
    const over = from === null ? abortAfter(BEGIN_MS, this.#stopping.signal) : this.#stopping.signal;
    const { result } = await callRemote(this.#remote, claimed, "begin", { env }, { over });
    return sameSandbox(result, claimed);
  }

  /** The sandbox of an earlier request, when that has been decided. */
  async #unlessCreating(sandbox: Sandbox): Promise<Sandbox> {
    if (sandbox.state !== "creating") return sandbox;
    const { waitMs = WAIT_MS } = this.#options;
    return (await this.#until(sandbox, ({ state }) => state !== "creating", waitMs)) ?? sandbox;
  }

  /** Waits until the row of a sandbox is as wanted. @returns null if that takes too long, or this process stops. */
  async #until(
    { id, accountId }: Sandbox,
    isWanted: (stored: Sandbox) => boolean,
    waitMs: number,
  ): Promise<Sandbox | null> {
    const { store } = this.#options;
    const over = abortAfter(waitMs, this.#stopping.signal);
    let woken = new AbortController();
    const unsubscribe = store.sandboxes.onSandbox(id, () => woken.abort());
    try {
      while (!over.aborted) {
        woken = new AbortController(); // before the read, so that no change is missed
        const stored = await store.sandboxes.get(id, accountId);
        if (!stored || isWanted(stored)) return stored;
        // That a sandbox runs is not notified to other processes, so it is looked for as well.
        await sleep(1_000, undefined, { signal: AbortSignal.any([over, woken.signal]), ref: false }).catch(() => {});
      }
      return null;
    } finally {
      unsubscribe();
    }
  }
}
