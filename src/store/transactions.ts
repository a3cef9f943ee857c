import { sql, type Transaction } from "kysely";
import type { Engine } from "./engine.ts";
import type { Schema } from "./schema.ts";

type Work<T> = (trx: Transaction<Schema>) => Promise<T>;

interface Waiting {
  readonly flushed: boolean;
  readonly run: (trx: Transaction<Schema>) => Promise<() => void>;
  readonly reject: (error: unknown) => void;
}

/** Pieces of work that share one commit at most: bounds how long one of them waits. */
const MAX_GROUP = 64;

/**
 * Runs pieces of work, each all or nothing, and resolves only when it is durable.
 * Where there is one writer, those that wait at the same time share one commit and so one
 * flush to the disk; each has a savepoint of its own, so one that fails takes no other along.
 */
export class Transactions {
  readonly #engine: Engine;
  #waiting: Waiting[] = [];
  #draining = false;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  run<T>(work: Work<T>): Promise<T> {
    return this.#run(work, true);
  }

  /** For what a power cut may forget: it survives the end of the process, and nobody waits for the disk. */
  runUnflushed<T>(work: Work<T>): Promise<T> {
    return this.#run(work, false);
  }

  #run<T>(work: Work<T>, flushed: boolean): Promise<T> {
    if (!this.#engine.abilities.oneWriter) return this.#transaction(flushed, work);
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({
        flushed,
        run: async (trx) => {
          const value = await work(trx);
          return () => resolve(value);
        },
        reject,
      });
      if (this.#draining) return;
      this.#draining = true;
      // In the next turn, so that everything that this turn brings is in the group.
      setImmediate(() => void this.#drain());
    });
  }

  #transaction<T>(flushed: boolean, work: Work<T>): Promise<T> {
    const { db, abilities } = this.#engine;
    return flushed ? db.transaction().execute(work) : abilities.unflushed(work);
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, MAX_GROUP);
      try {
        await this.#commit(group);
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.#draining = false;
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    const settle: (() => void)[] = [];
    // One that must be on the disk takes the others along.
    const flushed = group.some((piece) => piece.flushed);
    await this.#transaction(flushed, async (trx) => {
      for (const { run, reject } of group) {
        await sql`savepoint piece`.execute(trx);
        try {
          settle.push(await run(trx));
        } catch (error) {
          await sql`rollback to piece`.execute(trx);
          settle.push(() => reject(error));
        }
        await sql`release piece`.execute(trx);
      }
    });
    for (const done of settle) done();
  }
}
