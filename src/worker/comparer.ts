import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Checker, type Compared, check } from "../domain/check.ts";
import type { Comparison } from "./compare-process.ts";

/** Texts up to this size are compared at once: it takes a few milliseconds at most. */
const SHORT_BYTES = 8_192;
/** Time limit, from when the process is ready. */
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
 * Runs built-in checkers. Longer texts and regular expressions are compared in a process that can be killed, one after the other,
 * so that no output and no expression delays the service. An expression is not even parsed outside of it: V8 cannot be
 * interrupted while it builds a large one, so that a thread would not end.
 */
export class Comparer {
  /** By account, in the order of their turns. */
  readonly #queues = new Map<string, Waiting[]>();
  #process: ChildProcess | null = null;
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
    const known = this.#process;
    const child = known ?? start();
    this.#process = child;
    const { checker, output, answers } = waiting;
    const settle = (act: () => void) => {
      clearTimeout(timer);
      child.off("message", onMessage).off("error", onError).off("exit", onError);
      this.#current = null;
      act();
      this.#next();
    };
    const end = (error: ComparisonError) => {
      this.#process = null;
      child.kill("SIGKILL");
      settle(() => waiting.reject(error));
    };
    let timer: NodeJS.Timeout | undefined;
    const begin = () => {
      timer = setTimeout(() => end(new ComparisonError(`the comparison took more than ${MOST_MS / 1000} s`)), MOST_MS);
      child.send({ checker, output, answers });
    };
    const onMessage = (message: unknown) => {
      if (message === "ready") {
        begin();
        return;
      }
      const answer = message as Compared | null;
      const broken = new ComparisonError("the answer is not a regular expression of JavaScript");
      settle(() => (answer ? waiting.resolve(answer) : waiting.reject(broken)));
    };
    const onError = () => end(new ComparisonError("the comparison failed"));
    child.on("message", onMessage).on("error", onError).on("exit", onError);
    child.once("exit", () => {
      if (this.#process === child) this.#process = null;
    });
    this.#current = { waiting, end };
    if (child === known) begin();
  }
}

function start(): ChildProcess {
  const child = fork(fileURLToPath(new URL("./compare-process.ts", import.meta.url)), {
    env: {},
    execArgv: [`--max-old-space-size=${MEMORY_MIB}`],
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  // It ends with this process, which does not wait for it.
  child.unref();
  child.channel?.unref();
  // An error of a process that could not be started or has been killed.
  return child.on("error", () => {});
}
