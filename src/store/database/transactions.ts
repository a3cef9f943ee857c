import { setTimeout as sleep } from "node:timers/promises";
import type { Transaction } from "kysely";
import type { Abilities, Database } from "./database.ts";
import type { Notifier, StoreNotification } from "./notifier.ts";
import { type Call, type Operation, runPieces } from "./operations.ts";
import type { Schema } from "./schema.ts";

type Work<T> = (trx: Transaction<Schema>) => Promise<T>;

interface Options<T> {
  /** Notifications to send once the result is durable. */
  readonly notifications?: (value: T) => readonly StoreNotification[];
}

interface WaitingWork {
  readonly flushed: boolean;
  readonly run: Work<unknown>;
  /** The operation that `run` performs, which an engine can perform in another thread; null if `run` is any other function. */
  readonly call: Call | null;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The most pieces of work in one commit: bounds how long each of them waits. */
const MAX_GROUP = 64;

/**
 * Runs pieces of work. Each is atomic, and its promise resolves when it is durable. Its notifications then reach listeners in this and
 * other processes. With one writer, waiting pieces share one commit and therefore one flush to the disk; each has a savepoint, so
 * that a failure of one does not affect the others.
 */
export class Transactions {
  readonly #database: Database;
  readonly #wakeups: Notifier;
  #waiting: WaitingWork[] = [];
  #draining = false;

  constructor(database: Database, wakeups: Notifier) {
    this.#database = database;
    this.#wakeups = wakeups;
  }

  /** Runs a function. @param work may run more than once, so it must have no effects outside of the database. */
  run<T>(work: Work<T>, { notifications = () => [] }: Options<T> = {}): Promise<T> {
    return this.#run(work, null, true, notifications);
  }

  /**
   * Runs an operation. @param asked the argument of the operation: plain data, which must not change until the operation has ended, because
   * the engine may send it to another thread.
   */
  call<Asked, Result>(
    operation: Operation<Asked, Result>,
    asked: Asked,
    options: Options<Result> = {},
  ): Promise<Result> {
    return this.#call(operation, asked, true, options);
  }

  /** As `call`, but for data that may be lost in a power failure: the call does not wait for the disk. */
  callAsyncCommit<Asked, Result>(operation: Operation<Asked, Result>, asked: Asked): Promise<Result> {
    return this.#call(operation, asked, false, {});
  }

  /** As `run`, but for data that may be lost in a power failure. It survives the end of the process; the call does not wait for the disk. */
  runAsyncCommit<T>(work: Work<T>, { notifications = () => [] }: Options<T> = {}): Promise<T> {
    return this.#run(work, null, false, notifications);
  }

  #call<Asked, Result>(
    { name, run }: Operation<Asked, Result>,
    asked: Asked,
    flushed: boolean,
    { notifications = () => [] }: Options<Result>,
  ): Promise<Result> {
    const work = (trx: Transaction<Schema>) => run(trx, this.#database.abilities, asked);
    return this.#run(work, { operation: name, asked }, flushed, notifications);
  }

  async #run<T>(
    work: Work<T>,
    call: Call | null,
    flushed: boolean,
    notifications: (value: T) => readonly StoreNotification[],
  ): Promise<T> {
    const value = this.#database.abilities.oneWriter
      ? await this.#inGroup(work, call, flushed)
      : await this.#alone(work, flushed, notifications);
    for (const notification of notifications(value)) this.#wakeups.publish(notification);
    return value;
  }

  async #alone<T>(
    work: Work<T>,
    flushed: boolean,
    notifications: (value: T) => readonly StoreNotification[],
  ): Promise<T> {
    const { abilities } = this.#database;
    return await retried(abilities, () =>
      this.#transaction(flushed, async (trx) => {
        const value = await work(trx);
        await abilities.notify?.publish(trx, notifications(value));
        return value;
      }),
    );
  }

  #inGroup<T>(run: Work<T>, call: Call | null, flushed: boolean): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ flushed, run, call, resolve: (value) => resolve(value as T), reject });
      if (this.#draining) return;
      this.#draining = true;
      // The group begins in the next iteration of the event loop, so that it has all work of this iteration.
      setImmediate(() => void this.#drain());
    });
  }

  #transaction<T>(flushed: boolean, work: Work<T>): Promise<T> {
    const { db, abilities } = this.#database;
    if (!flushed) return abilities.asyncCommit(work);
    // The level is set, because at higher levels, statements after a lock could read a snapshot from before the lock.
    return db.transaction().setIsolationLevel("read committed").execute(work);
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, this.#groupSize());
      try {
        const ended = await this.#commit(group);
        for (const [at, one] of ended.entries()) {
          if (one.status === "fulfilled") group[at]?.resolve(one.value);
          else group[at]?.reject(one.reason);
        }
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.#draining = false;
  }

  /** How many of the first pieces can share a commit. If the engine performs operations itself, operations and functions cannot share one. */
  #groupSize(): number {
    const most = Math.min(this.#waiting.length, MAX_GROUP);
    if (!this.#database.abilities.performAll) return most;
    const byName = this.#waiting[0]?.call !== null;
    const other = this.#waiting.findIndex(({ call }) => (call !== null) !== byName);
    return other < 0 ? most : Math.min(other, most);
  }

  #commit(group: readonly WaitingWork[]): Promise<PromiseSettledResult<unknown>[]> {
    // One piece that needs a flush makes the whole group flush.
    const flushed = group.some((piece) => piece.flushed);
    const calls = group.flatMap(({ call }) => call ?? []);
    const { performAll } = this.#database.abilities;
    if (performAll && calls.length === group.length) return performAll(calls, flushed);
    return this.#transaction(flushed, (trx) =>
      runPieces(
        trx,
        group.map(({ run }) => run),
      ),
    );
  }
}

const MAX_TRIES = 6;
/** Half of the longest pause after the first attempt. */
const TRY_AGAIN_MS = 10;

/**
 * Runs a transaction, and repeats it if it has lost a conflict with another one, such as a deadlock. The longest pause doubles with each
 * attempt.
 * @throws the error of the sixth attempt, or an error that is no lost conflict.
 */
export async function retried<T>({ isRetryable }: Pick<Abilities, "isRetryable">, transaction: () => Promise<T>) {
  for (let tries = 1; ; tries++) {
    try {
      return await transaction();
    } catch (error) {
      if (tries === MAX_TRIES || !isRetryable(error)) throw error;
      await sleep(Math.random() * TRY_AGAIN_MS * 2 ** tries);
    }
  }
}
