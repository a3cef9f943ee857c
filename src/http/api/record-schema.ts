import { z } from "zod";
import { CAUSES } from "../../domain/outcome.ts";
import { SCHEMA_VERSION, type SubmissionRecord } from "../../domain/record.ts";
import { named } from "../named-schemas.ts";
import { count, profile, status, verdict } from "./fields.ts";

/** The schema of the record. src/domain/record.ts builds the record. Types and tests ensure that the record has this schema. */

const recordTime = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({ format: "date-time", description: "ISO 8601, UTC, milliseconds" });
const cause = named("Cause", z.enum(CAUSES));
const rlimit = named("Rlimit", z.strictObject({ soft: count, hard: count }));

const result = named(
  "Result",
  z.strictObject({
    verdict: verdict.nullable(),
    cause: cause.nullable().describe("Why the run ended"),
    actor: z.enum(["runtime", "kernel", "judge"]).nullable().describe("The party that ended the run"),
    exit_code: z.int().min(0).max(255).nullable().describe("Null unless the program exited"),
    signal: z.int().min(1).max(64).nullable(),
    error_message: z.string().nullable().describe("A sentence for display; null on success"),
  }),
);

const NOT_UTF8 = "Invalid UTF-8 becomes U+FFFD; without U+FFFD, the text is exactly the program's output";

const output = named(
  "Output",
  z.strictObject({
    stdout: z.string().nullable().describe(NOT_UTF8),
    stderr: z.string().nullable().describe(NOT_UTF8),
    integrity: z
      .enum(["complete", "truncated_by_judge_limit", "crash_mid_write", "write_error"])
      .nullable()
      .describe("Whether all output was captured, regardless of encoding"),
  }),
);

const metrics = named(
  "Metrics",
  z
    .strictObject({
      cpu_time_secs: z.number().min(0).nullable(),
      wall_time_secs: z.number().min(0).nullable(),
      memory_peak_bytes: count.nullable(),
      cpu_wall_ratio: z.number().min(0).nullable(),
      divergence: z.enum(["cpu_bound", "sleep_or_block_bound", "host_interference_suspected"]).nullable(),
    })
    .describe("Usage of the execute step, including child processes"),
);

const isolation = named(
  "Isolation",
  z.strictObject({
    mode: z.enum(["strict", "incomplete"]),
    controls_applied: z.array(z.string()).describe("The controls that were read back from the kernel"),
    controls_missing: z.array(z.string()).describe("If it is not empty, the verdict is IE"),
    proc_policy: z.enum(["hardened", "none"]),
    sys_policy: z.enum(["builtin-deny", "custom", "disabled"]),
    pidfd_mode: z.enum(["native", "fallback"]),
    reason: z.string(),
  }),
);

const limits = named(
  "AppliedLimits",
  z.strictObject({
    rlimits: z.strictObject({
      cpu_secs: rlimit
        .describe(
          "A backstop above the CPU limit. The record does not have the limits of wall and CPU time, which follow from profile, language and request",
        )
        .exactOptional(),
      as_bytes: rlimit.exactOptional(),
      nofile: rlimit.exactOptional(),
      nproc: rlimit.exactOptional(),
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
);

const teardown = named(
  "Teardown",
  z.strictObject({
    reap_status: z.enum(["clean", "incomplete"]),
    descendant_containment: z.enum(["ok", "leaked"]),
    zombie_count: count,
    cleanup_verified: z.boolean(),
    residual_mounts: z.array(z.string()),
    collection_errors: z.array(z.string()),
    judge_actions: z
      .array(z.strictObject({ action_type: z.enum(["forced_kill", "descendant_kill"]), details: z.string() }))
      .exactOptional()
      .describe("Present only if the launcher intervened"),
  }),
);

const evidence = named("Evidence", z.strictObject({ isolation, limits, teardown }));

export const record = named(
  "Record",
  z
    .strictObject({
      id: z.uuid(),
      schema_version: z.literal(SCHEMA_VERSION),
      language: z.string().describe("Canonical name of the language"),
      profile,
      status,
      timestamps: z.strictObject({
        created_at: recordTime,
        started_at: recordTime.nullable(),
        completed_at: recordTime.nullable(),
      }),
      result,
      output,
      metrics,
      evidence: evidence.nullable().describe("Null until a run has been reported"),
    })
    .describe("The current state of a submission. Values that are not known yet are null"),
) satisfies z.ZodType<SubmissionRecord>;
