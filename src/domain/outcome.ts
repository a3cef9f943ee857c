import type { Cause } from "./causes.ts";
import type { Limits } from "./limits.ts";
import type { Recorded } from "./measured.ts";
import type { CgroupBackend, Rlimits } from "./report.ts";
import type { Samples } from "./samples.ts";

export const VERDICTS = ["AC", "RE", "TLE", "MLE", "PLE", "FSE", "SIG", "IE"] as const;
export type Verdict = (typeof VERDICTS)[number];

/** What ended the run: the program itself (`runtime`), the kernel, or the launcher (`judge`). */
export type Actor = "runtime" | "kernel" | "judge";

export type Integrity = "complete" | "truncated_by_judge_limit" | "crash_mid_write" | "write_error";

export type Divergence = "cpu_bound" | "sleep_or_block_bound" | "host_interference_suspected";

export interface RunVerdict {
  readonly verdict: Verdict;
  readonly cause: Cause;
  readonly actor: Actor;
  /** Null if a signal ended the program, or the status is `error`. It is never 128+n for a signal. */
  readonly exitCode: number | null;
  readonly signal: number | null;
  /** A message for users; null on success. Never contains a host path. */
  readonly errorMessage: string | null;
}

/** The captured bytes, as the program wrote them. The record decodes them. */
export interface Output {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly integrity: Integrity;
}

/** The use of resources by the execute step alone. */
export interface Metrics {
  readonly cpuUsec: number;
  readonly wallNs: number;
  readonly memoryPeakBytes: number;
  readonly divergence: Divergence | null;
}

export interface JudgeAction {
  readonly type: "forced_kill" | "descendant_kill";
  readonly details: string;
}

export interface Evidence {
  readonly isolation: {
    /** `strict`: every control was read back. `incomplete`: one is missing, and the verdict is IE. */
    readonly mode: "strict" | "incomplete";
    readonly controlsApplied: readonly string[];
    readonly controlsMissing: readonly string[];
    readonly procPolicy: "hardened" | "none";
    readonly sysPolicy: "builtin-deny" | "custom" | "disabled";
    readonly pidfdMode: "native" | "fallback";
    readonly reason: string;
  };
  readonly limits: Recorded & {
    readonly rlimits: Rlimits;
    readonly cgroupBackend: CgroupBackend;
  };
  readonly teardown: {
    readonly reapStatus: "clean" | "incomplete";
    readonly descendantContainment: "ok" | "leaked";
    readonly zombieCount: number;
    readonly cleanupVerified: boolean;
    readonly residualMounts: readonly string[];
    readonly collectionErrors: readonly string[];
    /** Empty when the launcher did not intervene. */
    readonly judgeActions: readonly JudgeAction[];
  };
}

/** Run statistics for the dashboard; not part of the record. */
export interface RunStats {
  /** The time of the whole compile step; null if there was none, or if the artifact of an earlier submission was used. */
  readonly compileMs: number | null;
  /** The parts of the compile step; absent in old records, and if `compileMs` is null. */
  readonly compile?: { readonly wallMs: number; readonly teardownMs: number };
  /** Null if the program was not executed. */
  readonly execute: {
    /** The time from sending the step to the launcher to the end of the program. */
    readonly runMs: number;
    /**
     * The time of the program alone; with an interactor, including the time in which only the interactor worked. Absent in old records.
     */
    readonly wallMs?: number;
    readonly teardownMs: number;
    /** Null if the kernel does not count the peak. */
    readonly processesPeak: number | null;
    /** Bytes that the program wrote to the stream, including those that were discarded. */
    readonly stdoutBytes: number;
    readonly stderrBytes: number;
    /** How many bytes of standard output are stored, if they are fewer than the limit permits, which holds for runs of judgements. */
    readonly stdoutStoredBytes?: number;
    /** Limits that were in force and are not in the evidence. */
    readonly limits: Pick<Limits, "wallMs" | "cpuMs" | "stdoutBytes" | "stderrBytes">;
  } | null;
}

/** The most bytes that are stored of what the compiler wrote for a program that compiled. */
export const MAX_COMPILE_OUTPUT_BYTES = 16_384;

/**
 * How a submission ended. The status `error` means that the platform failed, or that the submission was cancelled. It always has the
 * verdict IE, and neither output nor metrics, because a run that proves nothing must not look like a result.
 */
export interface Outcome {
  readonly status: "completed" | "error";
  readonly result: RunVerdict;
  /** Null if the status is `error`. */
  readonly output: Output | null;
  /** Null if the program was not executed, or the status is `error`. */
  readonly metrics: Metrics | null;
  /** Null if no step has a report, or a box could not be set up. */
  readonly evidence: Evidence | null;
  /** Absent in old records, and if the status is `error`. */
  readonly runStats?: RunStats;
  /**
   * The means over all runs of a submission that ran several times, and the number of these runs, which outcomes of earlier releases do not
   * have. They are not part of the record, which shows the last run.
   */
  readonly means?: Pick<Metrics, "cpuUsec" | "memoryPeakBytes"> & { readonly runs?: number };
  /** The first bytes of what the compiler wrote for a program that compiled; not part of the record, and stored apart from it. */
  readonly compileOutput?: Buffer;
  /** What the module of another service's API noted about the outcome (ForeignApi.note); not part of the record, and stored apart from it. */
  readonly foreignNote?: number;
  /** Samples of a run that was long enough; not part of the record, and stored apart from it. */
  readonly samples?: Samples;
}

/**
 * The outcome of a submission that the platform failed to run.
 * @param errorMessage names the failure for the client, without host paths or internal names.
 */
export function internalError(errorMessage: string, evidence: Evidence | null = null): Outcome {
  return {
    status: "error",
    result: {
      verdict: "IE",
      cause: "internal_error",
      actor: "judge",
      exitCode: null,
      signal: null,
      errorMessage,
    },
    output: null,
    metrics: null,
    evidence,
  };
}

/** The outcome of a submission that was ended because nobody needs its result. @param errorMessage shown to the client. */
export function cancelled(errorMessage: string): Outcome {
  const outcome = internalError(errorMessage);
  return { ...outcome, result: { ...outcome.result, cause: "cancelled" } };
}
