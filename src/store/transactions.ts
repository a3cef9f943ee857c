import { setTimeout as sleep } from "node:timers/promises";
import { sql, type Transaction } from "kysely";
import type { Engine } from "./engine.ts";
import type { Schema } from "./schema.ts";
import type { Wakeups, Word } from "./wakeups.ts";

type Work<T> = (trx: Transaction<Schema>) => Promise<T>;

interface Options<T> {
  /** What the result gives reason to say once it is durable. */
  readonly words?: (value: T) => readonly Word[];
}

interface Waiting {
  readonly flushed: boolean;
  readonly run: (trx: Transaction<Schema>) => Promise<() => void>;
  readonly reject: (error: unknown) => void;
}

/** Pieces of work that share one commit at most: bounds how long one of them waits. */
const MAX_GROUP = 64;
/** Tries of one piece of work that loses to others; each try waits longer for its turn. */
const MAX_TRIES = 6;
const TRY_AGAIN_MS = 10;

/**
 * Runs pieces of work, each all or nothing, and resolves only when it is durable; then it
 * wakes whoever its words concern, here and in other processes.
 * Where there is one writer, those that wait at the same time share one commit and so one
 * flush to the disk; each has a savepoint of its own, so one that fails takes no other along.
 */
export class Transactions {
  readonly #engine: Engine;
  readonly #wakeups: Wakeups;
  #waiting: Waiting[] = [];
  #draining = false;

  constructor(engine: Engine, wakeups: Wakeups) {
    this.#engine = engine;
    this.#wakeups = wakeups;
  }

  /** @param work may be run more than once, so it changes nothing but the database. */
  run<T>(work: Work<T>, { words = () => [] }: Options<T> = {}): Promise<T> {
    return this.#run(work, true, words);
  }

  /** For what a power cut may forget: it survives the end of the process, and nobody waits for the disk. */
  runUnflushed<T>(work: Work<T>, { words = () => [] }: Options<T> = {}): Promise<T> {
    return this.#run(work, false, words);
  }

  async #run<T>(work: Work<T>, flushed: boolean, words: (value: T) => readonly Word[]): Promise<T> {
    const value = this.#engine.abilities.oneWriter
      ? await this.#inGroup(work, flushed)
      : await this.#alone(work, flushed, words);
    for (const word of words(value)) this.#wakeups.say(word);
    return value;
  }

  async #alone<T>(work: Work<T>, flushed: boolean, words: (value: T) => readonly Word[]): Promise<T> {
    const { notify, lostToAnother } = this.#engine.abilities;
    for (let tries = 1; ; tries++) {
      try {
        return await this.#transaction(flushed, async (trx) => {
          const value = await work(trx);
          await notify?.tell(trx, words(value));
          return value;
        });
      } catch (error) {
        if (tries === MAX_TRIES || !lostToAnother(error)) throw error;
        await sleep(Math.random() * TRY_AGAIN_MS * 2 ** tries);
      }
    }
  }

  #inGroup<T>(work: Work<T>, flushed: boolean): Promise<T> {
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
    if (!flushed) return abilities.unflushed(work);
    // Named, because a lock protects nothing if what is read after it is older than the lock.
    return db.transaction().setIsolationLevel("read committed").execute(work);
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
          // Where the database has ended the whole transaction (a full disk), there is no piece any more.
          await sql`rollback to piece`.execute(trx).catch(() => {
            throw error;
          });
          settle.push(() => reject(error));
        }
        await sql`release piece`.execute(trx);
      }
    });
    for (const done of settle) done();
  }
}
