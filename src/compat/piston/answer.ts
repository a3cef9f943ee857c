import { constants } from "node:os";
import { cutStreams } from "../../domain/explain/usage.ts";
import { LongText } from "../../domain/json-pieces.ts";
import type { Language } from "../../domain/language.ts";
import type { Outcome, Verdict } from "../../domain/outcome.ts";
import type { Submission } from "../../domain/submission.ts";
import type { Runtime } from "./runtimes.ts";

/**
 * A stage (`compile` or `run`), as Piston reports it. Times are in whole milliseconds, because clients in typed languages accept no
 * fraction. `memory` is in bytes.
 */
interface Stage {
  readonly stdout: LongText;
  readonly stderr: LongText;
  readonly output: LongText;
  readonly code: number | null;
  readonly signal: string | null;
  readonly message: string | null;
  readonly status: string | null;
  readonly cpu_time: number | null;
  readonly wall_time: number | null;
  readonly memory: number | null;
}

/** The statuses that Piston has for a verdict. */
interface Ends {
  /** The status if the program exited. */
  readonly exited: string | null;
  /** The status if a signal ended the program. */
  readonly signalled: string;
  /** Whether the stage has SIGKILL and no exit code, as Piston reports a program that it killed. */
  readonly isKilled?: true;
}

export const PISTON_ENDS: Readonly<Record<Verdict, Ends>> = {
  AC: { exited: null, signalled: "SG" },
  RE: { exited: "RE", signalled: "SG" },
  SIG: { exited: "RE", signalled: "SG" },
  TLE: { exited: "TO", signalled: "TO", isKilled: true },
  MLE: { exited: "SG", signalled: "SG", isKilled: true },
  PLE: { exited: "RE", signalled: "SG" },
  FSE: { exited: "RE", signalled: "SG" },
  IE: { exited: "XX", signalled: "XX" },
};

/** The status of a program with the verdict AC whose output was cut off, by the stream. */
const CUT = { stdout: "OL", stderr: "EL" } as const;

/** Signals by number. If a signal has several names, the first one is the usual one: 6 is SIGABRT, and then SIGIOT. */
const SIGNAL_NAMES = new Map(
  Object.entries(constants.signals)
    .toReversed()
    .map(([name, number]) => [number as number, name]),
);

const NOTHING = new LongText(Buffer.alloc(0));
const EMPTY: Stage = {
  stdout: NOTHING,
  stderr: NOTHING,
  output: NOTHING,
  code: null,
  signal: null,
  message: null,
  status: null,
  cpu_time: null,
  wall_time: null,
  memory: null,
};

/** The response for an ended submission: Piston's fields, and the id of the submission. */
export function pistonAnswer({ id, outcome }: Submission, language: Language, { language: name, version }: Runtime) {
  if (!outcome) throw new Error("a submission that has not ended has no answer");
  return { ...stagesOf(outcome, language), language: name, version, assay_id: id };
}

function stagesOf(outcome: Outcome, { compile }: Language): { readonly compile?: Stage; readonly run: Stage } {
  const { cause, exitCode, verdict, errorMessage: message } = outcome.result;
  const stage = stageOf(outcome);
  if (!cause.startsWith("compile_")) {
    if (!compile || verdict === "IE") return { run: stage };
    return { compile: { ...EMPTY, code: 0, wall_time: compileMs(outcome.runStats) }, run: stage };
  }
  // The compiler succeeded, but the file that it wrote cannot be executed.
  if (cause === "compile_error" && exitCode === 0)
    return { compile: { ...stage, status: null, message: null }, run: { ...EMPTY, status: "RE", message } };
  // Some clients read only `run`, so Piston repeats the stage there.
  return { compile: stage, run: stage };
}

function stageOf({ result, output, metrics, evidence, runStats }: Outcome): Stage {
  const { verdict, exitCode, signal, errorMessage } = result;
  const ends = PISTON_ENDS[verdict];
  const cut = verdict === "AC" ? cutOf(output, runStats) : undefined;
  const isCut = output?.integrity === "truncated_by_judge_limit";
  const [stdout, stderr] = [output?.stdout ?? NOTHING.bytes, output?.stderr ?? NOTHING.bytes];
  const cpuUsec = metrics?.cpuUsec ?? evidence?.limits.cpuUsec;
  return {
    stdout: new LongText(stdout, isCut),
    stderr: new LongText(stderr, isCut),
    output: new LongText(joined(stdout, stderr), isCut),
    code: ends.isKilled ? null : exitCode,
    signal: ends.isKilled ? "SIGKILL" : signal === null ? null : (SIGNAL_NAMES.get(signal) ?? `SIG${signal}`),
    message: cut ? `the output to ${cut} is longer than the limit: it was cut` : errorMessage,
    status: cut ? CUT[cut] : signal === null ? ends.exited : ends.signalled,
    cpu_time: cpuUsec === undefined ? null : Math.round(cpuUsec / 1000),
    wall_time: metrics ? Math.round(metrics.wallNs / 1e6) : compileMs(runStats),
    memory: metrics?.memoryPeakBytes ?? evidence?.limits.memoryPeakBytes ?? null,
  };
}

/** How long the compiler ran; null if the program was compiled earlier. */
function compileMs(runStats: Outcome["runStats"]): number | null {
  return runStats?.compile ? Math.round(runStats.compile.wallMs) : null;
}

function cutOf(output: Outcome["output"], runStats: Outcome["runStats"]): keyof typeof CUT | undefined {
  return cutStreams(output?.integrity ?? null, runStats)?.[0];
}

/** Both streams for `output`: first stdout, then stderr, because the order in which the program wrote to the two is not known. */
function joined(stdout: Buffer, stderr: Buffer): Buffer {
  if (stderr.length === 0) return stdout;
  return stdout.length === 0 ? stderr : Buffer.concat([stdout, stderr]);
}
