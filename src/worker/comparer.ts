import { Worker } from "node:worker_threads";
import { type Checker, type Compared, check } from "../domain/check.ts";
import type { Comparison } from "./compare-thread.ts";

/** Texts up to this size, all together, are compared at once: it takes a few milliseconds at most. */
const SHORT_BYTES = 65_536;
const MOST_MS = 2_000;

/** The comparison took too long or failed. */
export class ComparisonError extends Error {}

interface Waiting extends Comparison {
  readonly resolve: (compared: Compared) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Runs built-in checkers. Long texts and regular expressions are compared in a thread that can be ended, one after the other, so
 * that no output delays the service.
 */
export class Comparer {
  readonly #waiting: Waiting[] = [];
  #thread: Worker | null = null;

  /** @throws ComparisonError */
  async compare(checker: Checker, output: Buffer, answers: readonly Buffer[]): Promise<Compared> {
    const bytes = answers.reduce((sum, { length }) => sum + length, output.length);
    if (checker.type !== "regex" && bytes <= SHORT_BYTES) return check(checker, output, answers);
    return await new Promise<Compared>((resolve, reject) => {
      this.#waiting.push({ checker, output, answers, resolve, reject });
      if (this.#waiting.length === 1) this.#next();
    });
  }

  #next(): void {
    const [first] = this.#waiting;
    if (!first) return;
    this.#thread ??= new Worker(new URL("./compare-thread.ts", import.meta.url));
    const thread = this.#thread;
    thread.ref();
    const { checker, output, answers, resolve, reject } = first;
    const settle = (act: () => void) => {
      clearTimeout(timer);
      thread.removeAllListeners();
      this.#waiting.shift();
      act();
      this.#next();
    };
    const fail = (message: string) => {
      this.#thread = null;
      void thread.terminate();
      settle(() => reject(new ComparisonError(message)));
    };
    const timer = setTimeout(() => fail(`the comparison took more than ${MOST_MS / 1000} s`), MOST_MS);
    thread.once("error", ({ message }) => fail(`the comparison failed: ${message}`));
    thread.once("exit", () => fail("the comparison was interrupted"));
    thread.once("message", (compared: Compared) => {
      thread.unref();
      settle(() => resolve(compared));
    });
    thread.postMessage({ checker, output, answers });
  }
}
