import type { Logger } from "pino";
import { FileError } from "../../domain/sandboxes/files.ts";
import { type Sandbox, SandboxRefused } from "../../domain/sandboxes/sandbox.ts";
import { newSnapshot, type Snapshot } from "../../domain/sandboxes/snapshot.ts";
import type { SnapshotCounts } from "../../domain/status.ts";
import { Budget, type Release } from "../../fairness/budget.ts";
import type { Store } from "../../store/store.ts";
import type { SnapshotStore, TakeBytes } from "./snapshot-store.ts";

/** Snapshots that are taken, and sandboxes that begin with one, at the same time. The launcher keeps connections for them (keeper.ts). */
export const SNAPSHOTS_AT_ONCE = 16;
/** How long one more waits. */
const WAIT_MS = 10_000;
/** How long the archive of a snapshot may be written. Its programs stand still meanwhile. */
const WRITE_MS = 120_000;

export interface SnapshotsOptions {
  readonly store: Pick<Store, "snapshots">;
  readonly files: SnapshotStore;
  /** The most bytes of all archives of this machine together. */
  readonly bytes: number;
  readonly log: Logger;
}

export interface TakenFrom {
  readonly sandbox: Sandbox;
  readonly name: string | null;
  /** The key of the request; null: the end of its time asks for the snapshot. */
  readonly keyId: string | null;
  /** What the files of the sandbox have now. */
  readonly leastBytes: number;
  /** Gives the archive to a function, in order. @returns how many entries it has. @throws FileError */
  readonly save: (take: TakeBytes) => Promise<{ readonly files: number }>;
}

/** The snapshots in one directory. Accounts share its space as they share the memory of a machine. Processes of other machines can use the same directory. */
export class Snapshots {
  readonly #options: SnapshotsOptions;
  readonly #budget: Budget;
  readonly #places = new Budget({ total: SNAPSHOTS_AT_ONCE, perOwner: "shared", firstIfFree: true, waitMs: WAIT_MS });
  readonly #held = new Map<string, Release>();

  private constructor(options: SnapshotsOptions) {
    this.#options = options;
    this.#budget = new Budget({ total: options.bytes, perOwner: "shared", firstIfFree: true });
  }

  static async start(options: SnapshotsOptions): Promise<Snapshots> {
    const snapshots = new Snapshots(options);
    await snapshots.#count();
    return snapshots;
  }

  /** The directory that has them. */
  get storeId(): string {
    return this.#options.files.id;
  }

  counts(): SnapshotCounts {
    return { amount: this.#held.size, heldBytes: this.#budget.held, mostBytes: this.#options.bytes };
  }

  /** Takes a snapshot, which is durable and was read back when this resolves. @throws SandboxRefused: snapshotQuota, snapshotsFull, snapshotFailed. */
  async take({ sandbox, name, keyId, leastBytes, save }: TakenFrom): Promise<Snapshot> {
    const { store, files: archives, log } = this.#options;
    const chosen = { name, keyId: keyId ?? sandbox.keyId, storeId: archives.id };
    const snapshot = newSnapshot(sandbox, chosen, Date.now());
    const untilMs = Date.now() + WRITE_MS;
    const begun = await store.snapshots.begin({ snapshot, leastBytes, untilMs }, keyId !== null);
    if (begun.kind === "quota") throw new SandboxRefused("snapshotQuota", { what: begun.what, most: begun.most });
    if (begun.kind === "suspended") throw new SandboxRefused("accountSuspended");
    if (begun.kind === "revoked") throw new SandboxRefused("keyRevoked");
    const held: Release[] = [];
    const release = () => {
      for (const one of held) one();
    };
    let bytes = 0;
    const admit = (more: number) => {
      bytes += more;
      if (bytes > begun.mostBytes)
        throw new SandboxRefused("snapshotQuota", { what: "bytes of snapshots", most: begun.mostBytes });
      if (Date.now() > untilMs) throw new SandboxRefused("snapshotFailed", { why: "it took too long" });
      const taken = this.#budget.take(sandbox.accountId, more);
      if (!taken) throw new SandboxRefused("snapshotsFull");
      held.push(taken);
    };
    let isComplete = false;
    try {
      await this.#count();
      let files = 0;
      const archive = await archives.write(
        snapshot.id,
        async (take) => {
          files = (await save(take)).files;
        },
        admit,
      );
      const complete = await store.snapshots.complete(snapshot, { ...archive, files });
      if (!complete) throw new SandboxRefused("snapshotFailed", { why: "it took too long" });
      if ("kind" in complete)
        throw new SandboxRefused("snapshotQuota", { what: "bytes of snapshots", most: complete.most });
      isComplete = true;
      this.#forget(snapshot.id); // it may have been counted since
      this.#held.set(snapshot.id, release);
      return complete;
    } catch (error) {
      if (error instanceof FileError) throw new SandboxRefused("snapshotFailed", { why: error.message });
      if ((error as NodeJS.ErrnoException).code === "ENOSPC") throw new SandboxRefused("snapshotsFull");
      throw error;
    } finally {
      if (!isComplete) {
        release();
        await archives
          .remove(snapshot.id)
          .catch((error: unknown) => log.error({ err: error }, "an archive was not removed"));
        await store.snapshots
          .abandon(snapshot.id)
          .catch((error: unknown) => log.error({ err: error }, "a snapshot was not given up; it is removed later"));
      }
    }
  }

  /** A place for one that is taken, or for a sandbox that begins with one. @throws SandboxRefused: snapshotsFull. */
  async place(accountId: string): Promise<Release> {
    const release = await this.#places.takeInTime(accountId, 1, new AbortController().signal);
    if (!release) throw new SandboxRefused("snapshotsFull");
    return release;
  }

  /** @throws SandboxRefused: snapshotNotFound, snapshotElsewhere. */
  async find(id: string, accountId: string): Promise<Snapshot> {
    const { store, files } = this.#options;
    const snapshot = await store.snapshots.get(id, accountId);
    if (!snapshot) throw new SandboxRefused("snapshotNotFound");
    if (snapshot.storeId !== files.id) throw new SandboxRefused("snapshotElsewhere");
    return snapshot;
  }

  /**
   * The archive of a snapshot of this machine.
   * @throws SandboxRefused, while it is read: snapshotDamaged, or snapshotNotFound if the snapshot was removed before the first byte.
   */
  async *read(snapshot: Snapshot): AsyncGenerator<Buffer, void, undefined> {
    try {
      yield* this.#options.files.read(snapshot.id, snapshot);
    } catch (error) {
      if (!SandboxRefused.is(error, "snapshotNotFound")) throw error;
      // A row without an archive is a damage, unless the row has gone, too.
      const isKnown = await this.#options.store.snapshots.get(snapshot.id, snapshot.accountId);
      throw isKnown ? new SandboxRefused("snapshotDamaged") : error;
    }
  }

  /** Removes a snapshot. The archive of another machine is removed there later. @throws SandboxRefused: snapshotNotFound. */
  async remove(id: string, accountId: string): Promise<Snapshot> {
    const { store, files } = this.#options;
    const removed = await store.snapshots.remove(id, accountId);
    if (!removed) throw new SandboxRefused("snapshotNotFound");
    if (removed.storeId === files.id) {
      await files.remove(id);
      this.#forget(id);
    }
    return removed;
  }

  /**
   * Removes old snapshots, and the archives of this machine that no row names: a process that was killed has left them, or another one has
   * removed the row. @param all whether no other process uses the database.
   */
  async sweep(beforeMs: number, all: boolean): Promise<void> {
    const { store, files, log } = this.#options;
    let removed = 0;
    for (let more = true; more; ) {
      const some = await store.snapshots.sweep({ beforeMs, all, max: SWEPT_AT_ONCE });
      removed += some;
      more = some === SWEPT_AT_ONCE;
    }
    const counted = [...this.#held.keys()];
    // The lists come first: a row exists before its file, and as long as it.
    const found = await files.list();
    const known = await store.snapshots.known([...new Set([...found, ...counted])]);
    for (const id of counted) if (!known.has(id)) this.#forget(id);
    for (const id of found) {
      if (known.has(id)) continue;
      await files.remove(id);
      this.#forget(id);
    }
    if (removed > 0) log.info({ removed }, "old snapshots deleted");
  }

  /** Counts what other processes have written into the directory, and removed from it. */
  async #count(): Promise<void> {
    const counted = [...this.#held.keys()];
    const found = await this.#options.store.snapshots.ofStore(this.storeId);
    const ids = new Set(found.map(({ id }) => id));
    for (const id of counted) if (!ids.has(id)) this.#forget(id);
    for (const { id, accountId, bytes } of found)
      if (!this.#held.has(id)) this.#held.set(id, this.#budget.hold(accountId, bytes));
  }

  #forget(id: string): void {
    this.#held.get(id)?.();
    this.#held.delete(id);
  }
}

const SWEPT_AT_ONCE = 100;
