import { setTimeout as sleep } from "node:timers/promises";
import type { Transaction } from "kysely";
import type { Abilities, Database } from "./database.ts";
import { StoreUnavailable } from "./errors.ts";
import type { Notifier, StoreNotification } from "./notifier.ts";
import { type Operation, type OperationCall, runPieces } from "./operations.ts";
import type { Schema } from "./schema.ts";

type Work<T> = (trx: Transaction<Schema>) => Promise<T>;

interface Options<T> {
  /** Notifications to send once the result is durable. */
  readonly notifications?: (value: T) => readonly StoreNotification[];
}

/** How requests of one kind share an operation (`Transactions.group`). */
export interface GroupOptions<Request, Answer, Asked, Result> {
  readonly operation: Operation<Asked, Result>;
  /** The argument of the operation, made when the commit begins. */
  readonly asked: (requests: readonly Request[]) => Asked;
  /** The answer to each request, in their order. */
  readonly answers: (result: Result) => readonly Answer[];
  /** Notifications to send once the result is durable. */
  readonly notifications?: (result: Result) => readonly StoreNotification[];
  /** Whether the commit need not wait for the disk: a power failure may lose it. */
  readonly isUnflushed?: boolean;
}

export interface AddOptions {
  /** Whether the request can wait for others, so that many share a commit. It waits for at most WAIT_MS. */
  readonly mayWait?: boolean;
}

/** Adds a request. @returns the answer, when it is durable. */
export type AddToGroup<Request, Answer> = (request: Request, options?: AddOptions) => Promise<Answer>;

/** The most pieces of work in one commit, and the most requests in one operation: bounds how long the commit holds its locks. */
const MAX_GROUP = 64;
/** How long a request that can wait does so at most, and for how many others. */
const WAIT_MS = 60;
const WAIT_REQUESTS = 24;

/** A piece of work, which is run in one savepoint of a commit. */
interface Piece {
  /** Called once, when the commit begins: from then on, the piece does not change. */
  readonly begin: () => Begun;
  /** Until when the piece need not begin, in the time of performance.now(). */
  readonly waitsUntilMs: () => number;
  readonly flushed: boolean;
  /** Whether `begin` gives an operation, which an engine can perform in another thread. */
  readonly isCall: boolean;
  readonly end: (ended: PromiseSettledResult<unknown>) => void;
}

interface Begun {
  readonly run: Work<unknown>;
  readonly call: OperationCall | null;
  readonly notifications: (value: unknown) => readonly StoreNotification[];
}

/**
 * Groups work into commits. The rule: **a result is durable when its promise resolves**, and its notifications reach listeners in this and
 * other processes after that. There are two exceptions. What `runUnflushed` commits, and a group that `isUnflushed`, may be lost in a
 * power failure, though not by the end of the process. And with one writer, new work is announced before its commit
 * (store/submissions/submissions.ts), so that the claim shares the commit.
 *
 * Pieces of work wait in a *queue*, which has one commit under way; what arrives meanwhile shares the next one. Under load, many requests
 * therefore share each lock, statement and flush, and a single request does not wait.
 *
 * - With one writer, one queue has all work. Each piece has a savepoint, so that a failure of one does not affect the others.
 * - With several writers, each kind of grouped requests has a queue. It also uses only one connection at a time: requests that wait for a
 *   lock of the database cannot take all connections of the pool, of which the holder of the lock needs one for its next transaction. Any
 *   other work is committed at once, alone.
 */
export class Transactions {
  readonly #database: Database;
  readonly #notifier: Notifier;
  readonly #onlyQueue: CommitQueue | null;

  constructor(database: Database, notifier: Notifier) {
    this.#database = database;
    this.#notifier = notifier;
    this.#onlyQueue = database.abilities.oneWriter ? new CommitQueue((waiting) => this.#commitFirst(waiting)) : null;
  }

  /** Runs a function. @param work may run more than once, so it must have no effects outside of the database. */
  run<T>(work: Work<T>, { notifications = () => [] }: Options<T> = {}): Promise<T> {
    return this.#add(work, null, true, notifications);
  }

  /** As `run`, but for data that may be lost in a power failure. It survives the end of the process; the call does not wait for the disk. */
  runUnflushed<T>(work: Work<T>, { notifications = () => [] }: Options<T> = {}): Promise<T> {
    return this.#add(work, null, false, notifications);
  }

  /**
   * Runs an operation. @param asked the argument of the operation: plain data, which must not change until the operation has ended, because
   * the engine may send it to another thread.
   */
  call<Asked, Result>(
    { name, run }: Operation<Asked, Result>,
    asked: Asked,
    { notifications = () => [] }: Options<Result> = {},
  ): Promise<Result> {
    const work = (trx: Transaction<Schema>) => run(trx, this.#database.abilities, asked);
    return this.#add(work, { operation: name, asked }, true, notifications);
  }

  /** @returns a function that adds a request of one kind. Requests that wait together share one run of the operation. */
  group<Request, Answer, Asked, Result>(
    options: GroupOptions<Request, Answer, Asked, Result>,
  ): AddToGroup<Request, Answer> {
    const queue = this.#onlyQueue ?? new CommitQueue((waiting) => this.#commitOne(waiting));
    const groupOf = (first: Waiting<Request, Answer>, mayWait: boolean) => {
      const group = new Group(options, this.#database.abilities, (one) => queue.add(groupOf(one, false).close()));
      group.add(first, mayWait);
      return group;
    };
    let open: Group<Request, Answer, Asked, Result> | null = null;
    return (request, { mayWait = false } = {}) =>
      new Promise((resolve, reject) => {
        const waiting = { request, resolve, reject };
        if (open?.isOpen) {
          open.add(waiting, mayWait);
          queue.advance();
        } else {
          open = groupOf(waiting, mayWait);
          queue.add(open);
        }
      });
  }

  #add<T>(
    run: Work<T>,
    call: OperationCall | null,
    flushed: boolean,
    notifications: (value: T) => readonly StoreNotification[],
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const begun = { run, call, notifications: notifications as Begun["notifications"] };
      const piece: Piece = {
        begin: () => begun,
        waitsUntilMs: () => 0,
        flushed,
        isCall: call !== null,
        end: (ended) => (ended.status === "fulfilled" ? resolve(ended.value as T) : reject(ended.reason)),
      };
      if (this.#onlyQueue) this.#onlyQueue.add(piece);
      else void this.#commitAlone(piece);
    });
  }

  /** Commits the first pieces of a queue together. */
  async #commitFirst(waiting: Piece[]): Promise<void> {
    const pieces = waiting.splice(0, this.#fitting(waiting));
    // One piece that needs a flush makes the whole commit flush.
    const flushed = pieces.some((piece) => piece.flushed);
    const { performAll } = this.#database.abilities;
    try {
      const begun = pieces.map((piece) => piece.begin());
      const calls = begun.flatMap(({ call }) => call ?? []);
      const ended =
        performAll && calls.length === begun.length
          ? await performAll(calls, flushed)
          : await this.#transaction(flushed, (trx) =>
              runPieces(
                trx,
                begun.map(({ run }) => run),
              ),
            );
      for (const [at, one] of ended.entries()) {
        if (one.status === "fulfilled") this.#notify(begun[at]?.notifications(one.value) ?? []);
        pieces[at]?.end(one);
      }
    } catch (reason) {
      for (const piece of pieces) piece.end({ status: "rejected", reason });
    }
  }

  /** How many of the first pieces can share a commit. If the engine performs operations itself, operations and functions cannot share one. */
  #fitting(waiting: readonly Piece[]): number {
    const most = Math.min(waiting.length, MAX_GROUP);
    if (!this.#database.abilities.performAll) return most;
    const other = waiting.findIndex(({ isCall }) => isCall !== waiting[0]?.isCall);
    return other < 0 ? most : Math.min(other, most);
  }

  async #commitOne(waiting: Piece[]): Promise<void> {
    for (const piece of waiting.splice(0, 1)) await this.#commitAlone(piece);
  }

  async #commitAlone(piece: Piece): Promise<void> {
    const { abilities } = this.#database;
    try {
      const { run, notifications } = piece.begin();
      const value = await retried(abilities, () =>
        this.#transaction(piece.flushed, async (trx) => {
          const done = await run(trx);
          await abilities.notify?.publish(trx, notifications(done));
          return done;
        }),
      );
      this.#notify(notifications(value));
      piece.end({ status: "fulfilled", value });
    } catch (reason) {
      piece.end({ status: "rejected", reason });
    }
  }

  #notify(notifications: readonly StoreNotification[]): void {
    for (const notification of notifications) this.#notifier.publish(notification);
  }

  #transaction<T>(flushed: boolean, work: Work<T>): Promise<T> {
    const { db, abilities } = this.#database;
    if (!flushed) return abilities.unflushed(work);
    // The level is set, because at higher levels, statements after a lock could read a snapshot from before the lock.
    return db.transaction().setIsolationLevel("read committed").execute(work);
  }
}

/** Pieces of work that are committed one commit after the other. */
class CommitQueue {
  /** Commits some of the first pieces, and removes them from the list at once. Never rejects. */
  readonly #commit: (waiting: Piece[]) => Promise<void>;
  readonly #waiting: Piece[] = [];
  #isRunning = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(commit: (waiting: Piece[]) => Promise<void>) {
    this.#commit = commit;
  }

  add(piece: Piece): void {
    this.#waiting.push(piece);
    this.advance();
  }

  /** Begins with the next commit, unless every piece can still wait. */
  advance(): void {
    if (this.#isRunning || this.#waiting.length === 0) return;
    const waitMs = Math.min(...this.#waiting.map((piece) => piece.waitsUntilMs())) - performance.now();
    clearTimeout(this.#timer);
    if (waitMs > 0) {
      this.#timer = setTimeout(() => this.advance(), waitMs);
      return;
    }
    this.#isRunning = true;
    // The commit begins in the next iteration of the event loop, so that it has all work of this iteration.
    setImmediate(() => void this.#run());
  }

  async #run(): Promise<void> {
    await this.#commit(this.#waiting);
    this.#isRunning = false;
    this.advance();
  }
}

interface Waiting<Request, Answer> {
  readonly request: Request;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** Requests of one kind that share a run of their operation. */
class Group<Request, Answer, Asked, Result> implements Piece {
  readonly #options: GroupOptions<Request, Answer, Asked, Result>;
  readonly #locks: Pick<Abilities, "lock">;
  readonly #addAlone: (waiting: Waiting<Request, Answer>) => void;
  readonly #waiting: Waiting<Request, Answer>[] = [];
  readonly #waitsUntilMs = performance.now() + WAIT_MS;
  #mayWait = true;
  #isClosed = false;
  readonly flushed: boolean;
  readonly isCall = true;

  /** @param addAlone adds a request again, without others. */
  constructor(
    options: GroupOptions<Request, Answer, Asked, Result>,
    locks: Pick<Abilities, "lock">,
    addAlone: (waiting: Waiting<Request, Answer>) => void,
  ) {
    this.#options = options;
    this.#locks = locks;
    this.#addAlone = addAlone;
    this.flushed = !options.isUnflushed;
  }

  /** Whether further requests can be added. */
  get isOpen(): boolean {
    return !this.#isClosed && this.#waiting.length < MAX_GROUP;
  }

  close(): this {
    this.#isClosed = true;
    return this;
  }

  add(waiting: Waiting<Request, Answer>, mayWait: boolean): void {
    this.#waiting.push(waiting);
    this.#mayWait &&= mayWait && this.#waiting.length < WAIT_REQUESTS;
  }

  waitsUntilMs(): number {
    return this.#mayWait ? this.#waitsUntilMs : 0;
  }

  begin(): Begun {
    this.close();
    const { operation, asked, notifications = () => [] } = this.#options;
    const argument = asked(this.#waiting.map(({ request }) => request));
    return {
      run: (trx) => operation.run(trx, this.#locks, argument),
      call: { operation: operation.name, asked: argument },
      notifications: notifications as Begun["notifications"],
    };
  }

  end(ended: PromiseSettledResult<unknown>): void {
    if (ended.status === "fulfilled") {
      const answers = this.#options.answers(ended.value as Result);
      for (const [at, { resolve }] of this.#waiting.entries()) resolve(answers[at] as Answer);
    } else if (this.#waiting.length === 1 || ended.reason instanceof StoreUnavailable) {
      // After the loss of a connection, it is unknown whether the group was committed, so its requests are not repeated.
      for (const { reject } of this.#waiting) reject(ended.reason);
    } else {
      // A failing request must not fail the others.
      for (const one of this.#waiting) this.#addAlone(one);
    }
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
