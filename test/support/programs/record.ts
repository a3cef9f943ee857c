import { z } from "zod";
import { CONTROLS } from "../../../src/domain/controls.ts";
import { NAMES, PACKS } from "../languages/directory.ts";

/**
 * The record schema of the contract, written independently of the code that builds records. Unknown fields, missing
 * fields, and wrong types or units are errors.
 */
const count = z.int().min(0);
const seconds = z.number().min(0).max(600);
const timestamp = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
/** Files that a compile step leaves in the work directory. The peak includes them; the memory limit does not. */
const COMPILED_BYTES = 16 << 20;
/** Threads that the OOM killer has chosen may use some more pages while they exit. A bound, not a measurement. */
const OOM_SLACK_BYTES = 8 << 20;
const rlimit = z.strictObject({ soft: count, hard: count });

const evidence = z.strictObject({
  isolation: z.strictObject({
    mode: z.literal("strict"),
    controls_applied: z.array(z.string()).refine((applied) => String(applied) === String(CONTROLS)),
    controls_missing: z.array(z.string()).length(0),
    proc_policy: z.literal("hardened"),
    sys_policy: z.literal("builtin-deny"),
    pidfd_mode: z.enum(["native", "fallback"]),
    reason: z.string().min(1),
  }),
  limits: z.strictObject({
    rlimits: z.strictObject({
      cpu_secs: rlimit.optional(),
      as_bytes: rlimit.optional(),
      nofile: rlimit.optional(),
      nproc: rlimit.optional(),
    }),
    cgroup_backend: z.enum(["cgroup_v2", "cgroup_v1", "cgroup_hybrid"]),
    cgroup: z.strictObject({
      memory_limit_bytes: count,
      memory_peak_bytes: count,
      oom_events: count,
      oom_kill_events: count,
      cpu_usage_usec: count,
      process_count: count,
      process_limit: count,
    }),
  }),
  teardown: z.strictObject({
    reap_status: z.literal("clean"),
    descendant_containment: z.literal("ok"),
    zombie_count: z.literal(0),
    cleanup_verified: z.literal(true),
    residual_mounts: z.array(z.string()).length(0),
    collection_errors: z.array(z.string()).length(0),
    judge_actions: z
      .array(z.strictObject({ action_type: z.enum(["forced_kill", "descendant_kill"]), details: z.string().min(1) }))
      .min(1)
      .optional(),
  }),
});

const completed = z
  .strictObject({
    id: z.uuid(),
    schema_version: z.literal("2.0"),
    language: z.enum([...NAMES, ...PACKS]),
    profile: z.enum(["judge", "agent"]),
    status: z.literal("completed"),
    timestamps: z.strictObject({ created_at: timestamp, started_at: timestamp, completed_at: timestamp }),
    result: z.strictObject({
      verdict: z.enum(["AC", "RE", "TLE", "MLE", "PLE", "FSE", "SIG"]),
      cause: z.string().min(1),
      actor: z.enum(["runtime", "kernel", "judge"]),
      exit_code: z.int().min(0).max(255).nullable(),
      signal: z.int().min(1).max(64).nullable(),
      error_message: z.string().min(1).nullable(),
    }),
    output: z.strictObject({
      stdout: z.string(),
      stderr: z.string(),
      integrity: z.enum(["complete", "truncated_by_judge_limit", "crash_mid_write", "write_error"]),
    }),
    metrics: z.strictObject({
      cpu_time_secs: seconds.nullable(),
      wall_time_secs: seconds.nullable(),
      memory_peak_bytes: count.nullable(),
      cpu_wall_ratio: z.number().min(0).nullable(),
      divergence: z.enum(["cpu_bound", "sleep_or_block_bound", "host_interference_suspected"]).nullable(),
    }),
    evidence,
  })
  .superRefine((record, context) => {
    for (const problem of contradictions(record as CompletedRecord))
      context.addIssue({ code: "custom", message: problem });
  });

export type CompletedRecord = z.infer<typeof completed>;

/** Checks fields against each other. */
function* contradictions({ timestamps, result, metrics, evidence: proof }: CompletedRecord): Generator<string> {
  const { created_at, started_at, completed_at } = timestamps;
  if (!(created_at <= started_at && started_at <= completed_at)) yield "the timestamps are not in order";
  if ((result.exit_code === null) === (result.signal === null)) yield "exactly one of exit_code and signal is null";
  if ((result.verdict === "AC") !== (result.error_message === null)) yield "error_message is null only for AC";
  if (result.verdict === "AC" && result.exit_code !== 0) yield "AC is exit code 0";
  const measured = [metrics.cpu_time_secs, metrics.wall_time_secs, metrics.memory_peak_bytes, metrics.cpu_wall_ratio];
  const ran = !result.cause.startsWith("compile_");
  if (measured.some((value) => (value === null) === ran))
    yield "metrics are those of the execute step, and null without one";
  const { cgroup } = proof.limits;
  const slack = (cgroup.oom_kill_events > 0 ? OOM_SLACK_BYTES : 0) + COMPILED_BYTES;
  if (cgroup.memory_peak_bytes > cgroup.memory_limit_bytes + slack) yield "the peak is above the limit";
  if ((result.verdict === "MLE") !== cgroup.oom_kill_events > 0) yield "MLE if and only if there was an OOM kill";
  const seconds = (Date.parse(completed_at) - Date.parse(started_at)) / 1000;
  if ((metrics.wall_time_secs ?? 0) > seconds + 0.01) yield "the run took longer than the submission";
  const killed = proof.teardown.judge_actions?.some(({ action_type }) => action_type === "forced_kill") ?? false;
  if (result.actor === "judge" && !killed) yield "a run that the judge ended has no forced_kill";
}

/** @throws an error that lists every violation of the contract. */
export function checked(record: unknown): CompletedRecord {
  const result = completed.safeParse(record);
  if (!result.success) throw new Error(`${z.prettifyError(result.error)}\n${JSON.stringify(record, null, 1)}`);
  return result.data;
}
