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

interface Account {
  readonly queue: Waiting[];
  spentMs: number;
}

export interface CompareOptions {
  /** The account: accounts share the time of the process. */
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
  /** By account, until none has a comparison. The account with the least time is next. */
  readonly #accounts = new Map<string, Account>();
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
      this.#enter(owner).queue.push(waiting);
      if (!this.#current) this.#next();
    });
  }

  #abandon(waiting: Waiting): void {
    const gone = new ComparisonError("it is not needed any more");
    if (this.#current?.waiting === waiting) {
      this.#current.end(gone);
      return;
    }
    const queue = this.#accounts.get(waiting.owner)?.queue ?? [];
    const at = queue.indexOf(waiting);
    if (at >= 0) queue.splice(at, 1);
    waiting.reject(gone);
  }

  /** An account that was idle starts at the least time of the others, so that it does not come first until it has caught up. */
  #enter(owner: string): Account {
    const account = this.#accounts.get(owner) ?? { queue: [], spentMs: 0 };
    this.#accounts.set(owner, account);
    const served = this.#current && this.#accounts.get(this.#current.waiting.owner);
    const least = (this.#waiting()[0] ?? served)?.spentMs ?? 0;
    if (account.queue.length === 0) account.spentMs = Math.max(account.spentMs, least);
    return account;
  }

  /** The accounts with comparisons, by their time. */
  #waiting(): Account[] {
    const waiting = [...this.#accounts.values()].filter(({ queue }) => queue.length > 0);
    return waiting.sort((a, b) => a.spentMs - b.spentMs);
  }

  #take(): Waiting | undefined {
    const [next] = this.#waiting();
    if (!next) this.#accounts.clear();
    return next?.queue.shift();
  }

  #next(): void {
    const waiting = this.#take();
    if (!waiting) return;
    const known = this.#process;
    const child = known ?? this.#start();
    const { checker, output, answers } = waiting;
    const startedMs = performance.now();
    const settle = (act: () => void) => {
      const account = this.#accounts.get(waiting.owner);
      if (account) account.spentMs += performance.now() - startedMs;
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
    this.#current = { waiting, end };
    if (child === known) begin();
  }

  /** One listener for the process, not for each comparison: it would keep the texts of all of them. */
  #start(): ChildProcess {
    const child = start();
    child.once("exit", () => {
      if (this.#process === child) this.#process = null;
    });
    this.#process = child;
    return child;
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
