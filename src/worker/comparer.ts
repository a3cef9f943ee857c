import { type ChildProcess, fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Checker, type Compared, check } from "../domain/check.ts";
import { Turns } from "../fairness/turn.ts";
import type { BadAnswer, CompareMessage, CompareWork } from "./compare-process.ts";

/** Texts up to this size are compared at once: it takes a few milliseconds at most. */
const SHORT_BYTES = 8_192;
/** CPU time to parse the answers, and to match an output with expressions. */
const EXPRESSION_CPU_MS = 1_000;
/** CPU time of other comparisons for each byte: six times what the slowest text that is known takes (numbers of very different size). */
export const CPU_MS_PER_BYTE = 0.004;
/** CPU time of a comparison in the quick queue. One that takes longer begins again in the slow queue. */
const QUICK_CPU_MS = 100;
/** The interval between two readings of the CPU time of the process. */
const [LEAST_WATCH_MS, MOST_WATCH_MS] = [20, 1_000];
/** Processes that a comparison gets before the platform gives up. */
const MAX_TRIES = 3;
const MEMORY_MIB = 256;

/** The answers cannot be compared with anything: the judge's error. The message is for users. */
export class ComparisonError extends Error {}

/** No process could finish the comparison. This proves nothing about the output, so the run is repeated. */
export class ComparerLost extends Error {}

interface WaitingComparison extends CompareWork {
  readonly owner: string;
  /** Null for a comparison that takes longer than the queue permits. */
  readonly resolve: (compared: Compared | null) => void;
  readonly reject: (error: Error) => void;
}

export interface CompareOptions {
  /** The account: accounts share the CPU time of the process. */
  readonly owner: string;
  /** Aborted when the result is not needed any more. */
  readonly signal: AbortSignal;
  /** Called before the comparison begins again in the slow queue. */
  readonly onSlow?: () => void;
}

/** How the work of a process ends. `lost` proves nothing, so that another process gets the work. */
type End =
  | { readonly compared: Compared }
  | { readonly tooLong: true }
  | { readonly error: Error }
  | { readonly lost: string };

/**
 * Runs built-in checkers. Longer texts and regular expressions are compared in processes that can be killed, so that no output and no
 * expression delays the service. An expression is not even parsed outside of them: V8 cannot be interrupted while it builds a large
 * one, so that a thread would not end.
 *
 * There are two queues, each with a process. All comparisons begin in the quick one, which ends each of them after a tenth of a second of CPU time. Those
 * that take longer begin again in the slow one, where they wait for each other: otherwise, a comparison of one account that takes
 * half a minute would delay all others by as much.
 *
 * The budget is CPU time of the process. A busy machine takes none of it, and only a process that makes no progress at all is
 * replaced. Only an expression can exceed the budget: by its answer, which is the judge's error, or by the text of the output, which
 * then does not match. Otherwise an output could be written for this purpose.
 */
export class Comparer {
  readonly #quick: ComparisonQueue;
  readonly #slow: ComparisonQueue;

  /**
   * @param stalledMs after which a process that has used no CPU time meanwhile is replaced.
   * @param quickCpuMs CPU time of a comparison in the quick queue.
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
    // Most right outputs are the same bytes, which pass whatever is compared.
    if (checker.type !== "regex" && answers.some((answer) => answer.equals(output)))
      return { passed: true, message: null };
    // Other bytes cannot be right: only the message for users is missing, in one pass over the output.
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

/** A queue of comparisons, of which a process makes one after the other. */
class ComparisonQueue {
  /** Accounts take turns by their CPU time in milliseconds, until none has a comparison. */
  readonly #turns = new Turns<WaitingComparison>();
  readonly #stalledMs: number;
  readonly #mostCpuMs: number;
  #process: ChildProcess | null = null;
  #current: { readonly waiting: WaitingComparison; readonly end: (end: End) => void } | null = null;

  constructor(stalledMs: number, mostCpuMs: number) {
    this.#stalledMs = stalledMs;
    this.#mostCpuMs = mostCpuMs;
  }

  /** @returns null if it takes more CPU time than this queue permits. @throws ComparisonError, ComparerLost */
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

  /** The process has one listener. One for each comparison would hold the texts of all of them. */
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
  /** CPU time of the comparison, without the start of its process. */
  readonly mostCpuMs: number;
  /** Called once. @param cpuMs that the process used for it. */
  readonly settle: (end: End, cpuMs: number) => void;
  /** Called before, if the process must not be used again. */
  readonly discard: () => void;
}

/** Lets a process do the work. @returns a function that ends it. */
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
    // During the start, which has no budget, the next reading would be too late for the quick queue.
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
  // V8 aborts the process beyond its memory. The output of a program can cause that only by an expression.
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

/** The clock ticks of /proc: 100 a second on all processors that are supported. */
const MS_PER_TICK = 10;

/** CPU time of a process with all its threads; null if it has ended. */
function cpuMsOf({ pid }: ChildProcess): number | null {
  if (pid === undefined) return null;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // After the name, which can contain spaces: fields 3 and following, of which 14 and 15 are user and system time.
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
  // It ends with this process, which does not wait for it.
  child.unref();
  child.channel?.unref();
  // An error of a process that could not be started or has been killed.
  return child.on("error", () => {});
}
