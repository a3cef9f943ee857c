import { type ChildProcess, fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Checker, type Compared, check } from "../domain/check.ts";
import { Turns } from "../fairness/turn.ts";
import type { BadAnswer, CompareMessage, CompareWork } from "./compare-process.ts";

/** Texts up to this size are compared in this process: that takes a few milliseconds at most. */
const SHORT_BYTES = 8_192;
/** The most CPU time to parse the answers, and then again to compare an output with them. Other checkers than `regex` get more for long texts. */
const EXPRESSION_CPU_MS = 1_000;
/**
 * Additional CPU time for each byte, with other checkers than `regex`. It is six times what the slowest known text takes, which has
 * numbers of very different sizes.
 */
export const CPU_MS_PER_BYTE = 0.004;
/** The most CPU time of a comparison in the quick queue. If it takes longer, it begins again in the slow queue. */
const QUICK_CPU_MS = 100;
/** The shortest and the longest interval between two readings of the CPU time of the process. */
const [LEAST_WATCH_MS, MOST_WATCH_MS] = [20, 1_000];
/** How many processes try a comparison before it counts as lost. */
const MAX_TRIES = 3;
/** The limit of V8's heap in the process. */
const MEMORY_MIB = 512;

/**
 * The answers cannot be compared with any output, which is the judge's error; or the result is not needed any more. The message is for
 * users.
 */
export class ComparisonError extends Error {}

/** No process could finish the comparison. This proves nothing about the output, so the run is an internal error. */
export class ComparerLost extends Error {}

interface WaitingComparison extends CompareWork {
  readonly owner: string;
  /** Called with null if the comparison takes longer than the queue permits. */
  readonly resolve: (compared: Compared | null) => void;
  readonly reject: (error: Error) => void;
}

export interface CompareOptions {
  /** The id of the account. Accounts take turns, by the CPU time that their comparisons have taken. */
  readonly owner: string;
  /** Aborted when the result is not needed any more. */
  readonly signal: AbortSignal;
  /** Called before the comparison begins again in the slow queue. */
  readonly onSlow?: () => void;
}

/** How the work of a process ends. `lost` proves nothing, so another process tries the work again. */
type End =
  | { readonly compared: Compared }
  | { readonly tooLong: true }
  | { readonly error: Error }
  | { readonly lost: string };

/**
 * Runs built-in checkers. Long texts and regular expressions are compared in processes that can be killed, so that no output and no
 * expression delays the service. Expressions are even parsed there: V8 cannot be interrupted while it builds a large expression, so a
 * worker thread could not be ended.
 *
 * There are two queues, each with a process of its own. All comparisons begin in the quick queue, which ends each of them after a
 * tenth of a second of CPU time. A comparison that takes longer begins again in the slow queue, where it waits only for other long
 * comparisons. With a single queue, a comparison that takes half a minute would delay all other accounts by half a minute.
 *
 * A comparison has a budget of CPU time. On a busy machine it takes longer, but uses no more of its budget; only a process that uses no
 * CPU time at all for `stalledMs` is replaced. An expression that exceeds the budget while it is parsed is the judge's error. An
 * output that makes an expression exceed the budget does not match: if it caused an error, a program could evade WA by its output.
 */
export class Comparer {
  readonly #quick: ComparisonQueue;
  readonly #slow: ComparisonQueue;

  /**
   * @param stalledMs a process that uses no CPU time for this long is replaced.
   * @param quickCpuMs the most CPU time of a comparison in the quick queue.
   */
  constructor(stalledMs = 30_000, quickCpuMs = QUICK_CPU_MS) {
    this.#quick = new ComparisonQueue(stalledMs, quickCpuMs);
    this.#slow = new ComparisonQueue(stalledMs, Number.POSITIVE_INFINITY);
  }

  /** @throws ComparisonError, ComparerLost */
  async compare(
    checker: Checker,
    output: Buffer,
    answers: readonly Buffer[],
    options: CompareOptions,
  ): Promise<Compared> {
    const work = { checker, output, answers };
    // Most right outputs are equal to an answer, byte for byte. These pass with every checker but `regex`.
    if (checker.type !== "regex" && answers.some((answer) => answer.equals(output)))
      return { passed: true, message: null };
    // This output is wrong. One pass over it finds the message for users, which is short work for this process.
    if (checker.type === "exact") return check(checker, output, answers.slice(0, 1));
    if (checker.type !== "regex" && bytesOf(work) <= SHORT_BYTES) return check(checker, output, answers);
    const quick = await this.#quick.compare(work, options);
    if (quick) return quick;
    options.onSlow?.();
    const compared = await this.#slow.compare(work, options);
    if (!compared) throw new ComparerLost("the comparison has no result");
    return compared;
  }
}

/** A queue of comparisons, with the process that makes them one after the other. */
class ComparisonQueue {
  /** The comparisons that wait. Accounts take turns by the CPU time of their comparisons, in milliseconds. */
  readonly #turns = new Turns<WaitingComparison>();
  readonly #stalledMs: number;
  readonly #mostCpuMs: number;
  #process: ChildProcess | null = null;
  #current: { readonly waiting: WaitingComparison; readonly end: (end: End) => void } | null = null;

  constructor(stalledMs: number, mostCpuMs: number) {
    this.#stalledMs = stalledMs;
    this.#mostCpuMs = mostCpuMs;
  }

  /** @returns null if the comparison takes more CPU time than this queue permits. @throws ComparisonError, ComparerLost */
  async compare(work: CompareWork, { owner, signal }: CompareOptions): Promise<Compared | null> {
    if (signal.aborted) throw new ComparisonError("it is not needed any more");
    return await new Promise<Compared | null>((resolve, reject) => {
      const settled =
        <T>(settle: (value: T) => void) =>
        (value: T) => {
          signal.removeEventListener("abort", abandon);
          settle(value);
        };
      const waiting: WaitingComparison = { ...work, owner, resolve: settled(resolve), reject: settled(reject) };
      const abandon = () => this.#abandon(waiting);
      signal.addEventListener("abort", abandon, { once: true });
      this.#turns.add(owner, waiting);
      if (!this.#current) this.#next();
    });
  }

  #abandon(waiting: WaitingComparison): void {
    const notNeeded = new ComparisonError("it is not needed any more");
    if (this.#current?.waiting === waiting) {
      this.#current.end({ error: notNeeded });
      return;
    }
    this.#turns.remove(waiting.owner, waiting);
    waiting.reject(notNeeded);
  }

  #next(): void {
    const waiting = this.#turns.take();
    if (waiting) this.#try(waiting, MAX_TRIES);
  }

  #try(waiting: WaitingComparison, left: number): void {
    const child = this.#process ?? this.#start();
    const settle = (end: End, cpuMs: number) => {
      this.#turns.charge(waiting.owner, cpuMs);
      this.#current = null;
      if ("lost" in end && left > 1) {
        this.#try(waiting, left - 1);
        return;
      }
      if ("compared" in end) waiting.resolve(end.compared);
      else if ("tooLong" in end) waiting.resolve(null);
      else waiting.reject("error" in end ? end.error : new ComparerLost(`the comparison could not run: ${end.lost}`));
      this.#next();
    };
    const discard = () => {
      if (this.#process === child) this.#process = null;
      child.kill("SIGKILL");
    };
    const end = work(child, STARTED.has(child), waiting, {
      stalledMs: this.#stalledMs,
      mostCpuMs: this.#mostCpuMs,
      settle,
      discard,
    });
    this.#current = { waiting, end };
  }

  /** Starts the process with one listener for its end. A listener for each comparison would keep the texts of all in memory. */
  #start(): ChildProcess {
    const child = start();
    child.once("exit", () => {
      if (this.#process === child) this.#process = null;
    });
    this.#process = child;
    return child;
  }
}

function bytesOf({ output, answers }: Pick<CompareWork, "output" | "answers">): number {
  return answers.reduce((sum, { length }) => sum + length, output.length * answers.length);
}

/** Processes that have reported that they are ready. */
const STARTED = new WeakSet<ChildProcess>();

interface Attempt {
  readonly stalledMs: number;
  /** The most CPU time of the comparison, without that of the start of the process. */
  readonly mostCpuMs: number;
  /** Called once, at the end. @param cpuMs the CPU time that the process used for the work. */
  readonly settle: (end: End, cpuMs: number) => void;
  /** Called before `settle` if the process must not be used again. */
  readonly discard: () => void;
}

/** Lets a process make a comparison. @returns a function that ends the work and the process. */
function work(
  child: ChildProcess,
  isReady: boolean,
  { checker, output, answers }: WaitingComparison,
  { stalledMs, mostCpuMs, settle, discard }: Attempt,
): (end: End) => void {
  const isExpression = checker.type === "regex";
  const endOfPhase: Record<"start" | "prepare" | "run", End> = {
    start: { lost: "its process did not start" },
    prepare: {
      error: new ComparisonError(`the expression takes more than ${EXPRESSION_CPU_MS / 1000} s of CPU time to parse`),
    },
    run: isExpression
      ? differs(`the output does not match the expression within ${EXPRESSION_CPU_MS / 1000} s of CPU time`)
      : { lost: "it took too much CPU time" },
  };
  const budgetMs = {
    start: Number.POSITIVE_INFINITY,
    prepare: EXPRESSION_CPU_MS,
    run: isExpression ? EXPRESSION_CPU_MS : EXPRESSION_CPU_MS + CPU_MS_PER_BYTE * bytesOf({ output, answers }),
  };
  const startedMs = cpuMsOf(child) ?? 0;
  let phase: keyof typeof endOfPhase = "start";
  let begunMs = startedMs;
  let [phaseMs, seenMs, progressed] = [startedMs, startedMs, performance.now()];
  let timer: NodeJS.Timeout | undefined;
  let ended = false;

  const enter = (next: keyof typeof endOfPhase) => {
    phase = next;
    phaseMs = cpuMsOf(child) ?? phaseMs;
  };
  const finish = (end: End, cpuMs: number) => {
    if (ended) return;
    ended = true;
    clearTimeout(timer);
    child.off("message", onMessage).off("error", onLost).off("exit", onExit);
    settle(end, cpuMs);
  };
  const stop = (end: End) => {
    const cpuMs = (cpuMsOf(child) ?? seenMs) - startedMs;
    if (!ended) discard();
    finish(end, cpuMs);
  };
  const begin = () => {
    enter("prepare");
    begunMs = phaseMs;
    child.send({ checker, output, answers } satisfies CompareWork);
    // The start has no budget, so its timer is slow: its next reading of the CPU time would be too late for the quick queue.
    clearTimeout(timer);
    watch();
  };
  const watch = () => {
    const now = performance.now();
    const cpuMs = cpuMsOf(child) ?? seenMs;
    if (cpuMs > seenMs) [seenMs, progressed] = [cpuMs, now];
    const ofLaneMs = phase === "start" ? Number.POSITIVE_INFINITY : mostCpuMs - (cpuMs - begunMs);
    const ofPhaseMs = budgetMs[phase] - (cpuMs - phaseMs);
    const leftMs = Math.min(ofLaneMs, ofPhaseMs);
    if (ofPhaseMs < 0) stop(endOfPhase[phase]);
    else if (ofLaneMs < 0) stop({ tooLong: true });
    else if (now - progressed > stalledMs) stop({ lost: "its process made no progress" });
    else timer = setTimeout(watch, Math.max(LEAST_WATCH_MS, Math.min(leftMs / 2, stalledMs / 2, MOST_WATCH_MS)));
  };
  const onMessage = (message: unknown) => {
    const reply = message as CompareMessage;
    if (reply === "ready") {
      STARTED.add(child);
      begin();
    } else if (reply === "prepared") enter("run");
    else
      finish(
        typeof reply.compared === "string" ? BAD_ANSWER[reply.compared] : { compared: reply.compared },
        reply.cpuMs,
      );
  };
  const onLost = () => stop({ lost: "its process failed" });
  // V8 aborts a process that exceeds its memory. The output of a program can cause this only if the checker is an expression.
  const onExit = (_: number | null, signal: NodeJS.Signals | null) => {
    const isAborted = isExpression && phase !== "start" && ABORTS.includes(signal);
    if (!isAborted) onLost();
    else stop(phase === "run" ? NO_MATCH_IN_MEMORY : BAD_ANSWER["too large"]);
  };
  child.on("message", onMessage).on("error", onLost).on("exit", onExit);
  if (isReady) begin();
  else watch();
  return stop;
}

function differs(message: string): End {
  return { compared: { passed: false, message } };
}

const BAD_ANSWER: Readonly<Record<BadAnswer, End>> = {
  invalid: { error: new ComparisonError("the answer is not a regular expression of JavaScript") },
  "too large": { error: new ComparisonError("the expression is too large") },
};
/** Signals by which V8 ends its process. */
const ABORTS: readonly unknown[] = ["SIGABRT", "SIGTRAP", "SIGILL"];
const NO_MATCH_IN_MEMORY = differs(`the output does not match the expression within ${MEMORY_MIB} MiB`);

/** /proc counts CPU time in clock ticks, of which Linux has 100 a second on x86-64. */
const MS_PER_TICK = 10;

/** CPU time of a process with all its threads; null if it has ended. */
function cpuMsOf({ pid }: ChildProcess): number | null {
  if (pid === undefined) return null;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The fields after the name, which can contain spaces, begin with field 3. Fields 14 and 15 are user and system time.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
  } catch {
    return null;
  }
}

function start(): ChildProcess {
  const child = fork(fileURLToPath(new URL("./compare-process.ts", import.meta.url)), {
    env: {},
    execArgv: [`--max-old-space-size=${MEMORY_MIB}`],
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  // The child ends when this process has ended and closed the channel. This process does not wait for the child.
  child.unref();
  child.channel?.unref();
  // Without a listener, the error of a child that could not be started or killed would end this process.
  return child.on("error", () => {});
}
