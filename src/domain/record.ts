import { LongText } from "./json-pieces.ts";
import type { Evidence, Metrics, Outcome } from "./outcome.ts";
import type { Rlimit } from "./report.ts";
import type { Status, Submission } from "./submission.ts";

/**
 * The version of the record of a submission, as clients and webhooks receive it. No other file of the service builds the JSON of a
 * record. Groups and fields are always present, and unknown values are null, with two exceptions: an rlimit that is not in force is
 * absent, and so is `judge_actions` if the launcher did not intervene.
 */
export const SCHEMA_VERSION = "2.0";

/** The rlimits of the schema. Clients may reject a record with further fields. */
const CONTRACT_RLIMITS = ["cpu_secs", "as_bytes", "nofile", "nproc"] as const;

export interface SubmissionRecord {
  id: string;
  schema_version: typeof SCHEMA_VERSION;
  language: string;
  profile: string;
  status: Status;
  timestamps: { created_at: string; started_at: string | null; completed_at: string | null };
  result: {
    verdict: string | null;
    cause: string | null;
    actor: string | null;
    exit_code: number | null;
    signal: number | null;
    error_message: string | null;
  };
  output: { stdout: string | null; stderr: string | null; integrity: string | null };
  metrics: {
    cpu_time_secs: number | null;
    wall_time_secs: number | null;
    memory_peak_bytes: number | null;
    cpu_wall_ratio: number | null;
    divergence: string | null;
  };
  evidence: EvidenceRecord | null;
}

export interface EvidenceRecord {
  isolation: {
    mode: string;
    controls_applied: string[];
    controls_missing: string[];
    proc_policy: string;
    sys_policy: string;
    pidfd_mode: string;
    reason: string;
  };
  limits: {
    rlimits: { [name in (typeof CONTRACT_RLIMITS)[number]]?: Rlimit };
    cgroup_backend: string;
    cgroup: {
      memory_limit_bytes: number;
      memory_peak_bytes: number;
      oom_events: number;
      oom_kill_events: number;
      cpu_usage_usec: number;
      process_count: number;
      process_limit: number;
    };
  };
  teardown: {
    reap_status: string;
    descendant_containment: string;
    zombie_count: number;
    cleanup_verified: boolean;
    residual_mounts: string[];
    collection_errors: string[];
    judge_actions?: { action_type: string; details: string }[];
  };
}

/** @returns the record in the present state of the submission, with decoded output. Decoding takes up to 70 ms per MiB. */
export function toRecord(submission: Submission): SubmissionRecord {
  const record = toLongRecord(submission);
  const { stdout, stderr, integrity } = record.output;
  return { ...record, output: { stdout: text(stdout), stderr: text(stderr), integrity } };
}

function text(long: LongText | null): string | null {
  return long === null ? null : long.toString();
}

/** A record whose output is decoded while `jsonPieces` writes it. */
export interface LongRecord extends RecordWithoutOutput {
  readonly output: {
    readonly stdout: LongText | null;
    readonly stderr: LongText | null;
    readonly integrity: string | null;
  };
}

/** A record without its output, as explanations use it. */
export type RecordWithoutOutput = Omit<SubmissionRecord, "output">;

/** @returns the record in the present state of the submission. */
export function toLongRecord(submission: Submission): LongRecord {
  const { outcome } = submission;
  return {
    id: submission.id,
    schema_version: SCHEMA_VERSION,
    language: submission.language,
    profile: submission.profile,
    status: submission.status,
    timestamps: {
      created_at: isoTime(submission.createdAtMs),
      started_at: submission.startedAtMs === null ? null : isoTime(submission.startedAtMs),
      completed_at: submission.completedAtMs === null ? null : isoTime(submission.completedAtMs),
    },
    result: {
      verdict: outcome?.result.verdict ?? null,
      cause: outcome?.result.cause ?? null,
      actor: outcome?.result.actor ?? null,
      exit_code: outcome?.result.exitCode ?? null,
      signal: outcome?.result.signal ?? null,
      error_message: outcome?.result.errorMessage ?? null,
    },
    output: outputRecord(outcome),
    metrics: metricsRecord(outcome?.metrics ?? null),
    evidence: outcome?.evidence ? evidenceRecord(outcome.evidence) : null,
  };
}

/** Formats milliseconds since the epoch as ISO 8601 in UTC, with milliseconds and `Z`. */
function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

function outputRecord(outcome: Outcome | null): LongRecord["output"] {
  if (!outcome?.output) return { stdout: null, stderr: null, integrity: null };
  const { stdout, stderr, integrity } = outcome.output;
  // If the output limit cut a stream inside a character, that character is omitted: otherwise, it would look like invalid UTF-8.
  const cut = integrity === "truncated_by_judge_limit";
  return { stdout: new LongText(stdout, cut), stderr: new LongText(stderr, cut), integrity };
}

function metricsRecord(metrics: Metrics | null): SubmissionRecord["metrics"] {
  if (!metrics) {
    return {
      cpu_time_secs: null,
      wall_time_secs: null,
      memory_peak_bytes: null,
      cpu_wall_ratio: null,
      divergence: null,
    };
  }
  const cpuSecs = metrics.cpuUsec / 1e6;
  const wallSecs = metrics.wallNs / 1e9;
  return {
    cpu_time_secs: round(cpuSecs, 6),
    wall_time_secs: round(wallSecs, 6),
    memory_peak_bytes: metrics.memoryPeakBytes,
    cpu_wall_ratio: wallSecs > 0 ? round(cpuSecs / wallSecs, 4) : null,
    divergence: metrics.divergence,
  };
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

function evidenceRecord({ isolation, limits, teardown }: Evidence): EvidenceRecord {
  return {
    isolation: {
      mode: isolation.mode,
      controls_applied: [...isolation.controlsApplied],
      controls_missing: [...isolation.controlsMissing],
      proc_policy: isolation.procPolicy,
      sys_policy: isolation.sysPolicy,
      pidfd_mode: isolation.pidfdMode,
      reason: isolation.reason,
    },
    limits: {
      rlimits: contractRlimits(limits.rlimits),
      cgroup_backend: limits.cgroupBackend,
      cgroup: {
        memory_limit_bytes: limits.memoryLimitBytes,
        memory_peak_bytes: limits.memoryPeakBytes,
        oom_events: limits.oomEvents,
        oom_kill_events: limits.oomKills,
        cpu_usage_usec: limits.cpuUsec,
        process_count: limits.processCount,
        process_limit: limits.processLimit,
      },
    },
    teardown: {
      reap_status: teardown.reapStatus,
      descendant_containment: teardown.descendantContainment,
      zombie_count: teardown.zombieCount,
      cleanup_verified: teardown.cleanupVerified,
      residual_mounts: [...teardown.residualMounts],
      collection_errors: [...teardown.collectionErrors],
      ...(teardown.judgeActions.length > 0 && {
        judge_actions: teardown.judgeActions.map(({ type, details }) => ({ action_type: type, details })),
      }),
    },
  };
}

function contractRlimits(rlimits: Evidence["limits"]["rlimits"]): EvidenceRecord["limits"]["rlimits"] {
  const known: EvidenceRecord["limits"]["rlimits"] = {};
  for (const name of CONTRACT_RLIMITS) {
    const limit = rlimits[name];
    if (limit) known[name] = { soft: limit.soft, hard: limit.hard };
  }
  return known;
}
