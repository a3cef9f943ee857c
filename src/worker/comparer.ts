import { Worker } from "node:worker_threads";
import { type Checker, type Compared, check } from "../domain/check.ts";
import type { Comparison } from "./compare-thread.ts";

/** Texts up to this size are compared at once: it takes a few milliseconds at most. */
const SHORT_BYTES = 8_192;
/** Time limit, from when the thread is ready. */
const MOST_MS = 1_000;
const MEMORY_MIB = 256;

/** The comparison took too long or failed. The message is for users. */
export class ComparisonError extends Error {}

interface Waiting extends Comparison {
  readonly owner: string;
  readonly resolve: (compared: Compared) => void;
  readonly reject: (error: Error) => void;
}

export interface CompareOptions {
  /** The account: accounts take turns. */
  readonly owner: string;
  /** Aborted when the result is not needed any more. */
  readonly signal: AbortSignal;
}

/**
 * Runs built-in checkers. Longer texts and regular expressions are compared in a thread that can be ended, one after the other,
 * so that no output and no expression delays the service. An expression is not even parsed outside of it.
 */
export class Comparer {
  /** By account, in the order of their turns. */
  readonly #queues = new Map<string, Waiting[]>();
  #thread: Worker | null = null;
  #current: { readonly waiting: Waiting; readonly end: (error: ComparisonError) => void } | null = null;

  /** @throws ComparisonError */
  async compare(
    checker: Checker,
    output: Buffer,
    answers: readonly Buffer[],
    { owner, signal }: CompareOptions,
  ): Promise<Compared> {
    const bytes = answers.reduce((sum, { length }) => sum + length, output.length * answers.length);
    if (checker.type !== "regex" && bytes <= SHORT_BYTES) return check(checker, output, answers);
    if (signal.aborted) throw new ComparisonError("it is not needed any more");
    return await new Promise<Compared>((resolve, reject) => {
      const settled =
        <T>(settle: (value: T) => void) =>
        (value: T) => {
          signal.removeEventListener("abort", abandon);
          settle(value);
        };
      const work = { checker, output, answers };
      const waiting: Waiting = { ...work, owner, resolve: settled(resolve), reject: settled(reject) };
      const abandon = () => this.#abandon(waiting);
      signal.addEventListener("abort", abandon, { once: true });
      const queue = this.#queues.get(owner) ?? [];
      this.#queues.set(owner, queue);
      queue.push(waiting);
      if (!this.#current) this.#next();
    });
  }

  #abandon(waiting: Waiting): void {
    const gone = new ComparisonError("it is not needed any more");
    if (this.#current?.waiting === waiting) {
      this.#current.end(gone);
      return;
    }
    const queue = this.#queues.get(waiting.owner) ?? [];
    const at = queue.indexOf(waiting);
    if (at >= 0) queue.splice(at, 1);
    waiting.reject(gone);
  }

  #take(): Waiting | undefined {
    for (const [owner, queue] of this.#queues) {
      this.#queues.delete(owner);
      const first = queue.shift();
      if (queue.length > 0) this.#queues.set(owner, queue); // behind the others
      if (first) return first;
    }
    return undefined;
  }

  #next(): void {
    const waiting = this.#take();
    if (!waiting) return;
    const known = this.#thread;
    const thread = known ?? startThread();
    this.#thread = thread;
    thread.ref();
    const { checker, output, answers } = waiting;
    const settle = (act: () => void) => {
      clearTimeout(timer);
      thread.off("message", onMessage).off("error", onError).off("exit", onError);
      this.#current = null;
      act();
      this.#next();
    };
    const end = (error: ComparisonError) => {
      this.#thread = null;
      void thread.terminate();
      settle(() => waiting.reject(error));
    };
    let timer: NodeJS.Timeout | undefined;
    const begin = () => {
      timer = setTimeout(() => end(new ComparisonError(`the comparison took more than ${MOST_MS / 1000} s`)), MOST_MS);
      thread.postMessage({ checker, output, answers });
    };
    const onMessage = (answer: Compared | null | "ready") => {
      if (answer === "ready") {
        begin();
        return;
      }
      thread.unref();
      const broken = new ComparisonError("the answer is not a regular expression of JavaScript");
      settle(() => (answer ? waiting.resolve(answer) : waiting.reject(broken)));
    };
    const onError = () => end(new ComparisonError("the comparison failed"));
    thread.on("message", onMessage).on("error", onError).on("exit", onError);
    this.#current = { waiting, end };
    if (thread === known) begin();
  }
}

function startThread(): Worker {
  const limits = { maxOldGenerationSizeMb: MEMORY_MIB, maxYoungGenerationSizeMb: 16 };
  const thread = new Worker(new URL("./compare-thread.ts", import.meta.url), { resourceLimits: limits });
  // An error that was already under way when the thread was ended.
  return thread.on("error", () => {});
}
