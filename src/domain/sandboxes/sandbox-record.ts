import { z } from "zod";
import { egressSchema } from "../egress/egress-record.ts";
import { networkPolicySchema, toNetworkJson } from "../egress/policy.ts";
import { EVIDENCE_FACTS, evidenceSchema } from "../evidence-facts.ts";
import { type Facts, factsOf, schemaOf, valuesOf } from "../facts.ts";
import {
  isoTime,
  type LongRecord,
  metricsSchema,
  outputRecord,
  outputSchema,
  RECORD_FACTS,
  resultSchema,
  SCHEMA_VERSION,
  timeSchema,
} from "../record.ts";
import { EXECUTION_BOUNDS, EXECUTION_KINDS, EXECUTION_STATUSES, type Execution } from "./execution.ts";
import {
  expiresAtMs,
  ON_TIMEOUT,
  SANDBOX_END_REASON_NAMES,
  SANDBOX_LIMITS,
  SANDBOX_STATES,
  SANDBOX_STORAGES,
  type Sandbox,
  type SandboxLimitName,
} from "./sandbox.ts";

/*
 * The JSON of sandboxes and executions for clients and webhooks. It is built only here, from these facts. Groups and fields are always
 * present, and unknown values are null.
 */

const count = z.int().min(0);
const timeOf = (ms: number | null) => (ms === null ? null : isoTime(ms));

const sandboxFact = factsOf<Sandbox>();
const limitFact = (name: SandboxLimitName, meaning: string) =>
  sandboxFact(count, ({ limits }) => limits[name], meaning);
const teardownFact = <Schema extends z.ZodType>(
  schema: Schema,
  read: (teardown: NonNullable<NonNullable<Sandbox["evidence"]>["teardown"]>) => z.output<Schema> | null,
  meaning: string,
) => sandboxFact(schema.nullable(), ({ evidence }) => (evidence?.teardown ? read(evidence.teardown) : null), meaning);

export const SANDBOX_FACTS = {
  id: sandboxFact(z.uuid(), ({ id }) => id, "Id of the sandbox"),
  state: sandboxFact(
    z.enum(SANDBOX_STATES),
    ({ state }) => state,
    "`creating`: its box is being made; `paused`: its programs are frozen; `ended`: nothing of it is left but its records",
  ),
  end_reason: sandboxFact(
    z.enum(SANDBOX_END_REASON_NAMES).nullable(),
    ({ endReason }) => endReason,
    "Why it ended; null until then",
  ),
  timestamps: {
    created_at: sandboxFact(timeSchema, ({ createdAtMs }) => isoTime(createdAtMs), "ISO 8601, UTC, milliseconds"),
    started_at: sandboxFact(timeSchema.nullable(), ({ startedAtMs }) => timeOf(startedAtMs), "When its box was ready"),
    expires_at: sandboxFact(
      timeSchema.nullable(),
      (sandbox) => timeOf(expiresAtMs(sandbox)),
      "When its lifetime is over, if it does not end before",
    ),
    ended_at: sandboxFact(timeSchema.nullable(), ({ endedAtMs }) => timeOf(endedAtMs), "When it was removed"),
  },
  lifetime_secs: sandboxFact(count, ({ lifetimeSecs }) => lifetimeSecs, "How long it lives at most, from its start"),
  idle_secs: sandboxFact(
    count,
    ({ idleSecs }) => idleSecs,
    "How long it lives without any request or reader while its programs use less than 1 % of a CPU. While it is paused, this clock stands still.",
  ),
  on_timeout: sandboxFact(
    z.enum(ON_TIMEOUT),
    ({ onTimeout }) => onTimeout,
    "`snapshot`: when its lifetime or idle time is over, a snapshot of its files is taken before it ends",
  ),
  from_snapshot: sandboxFact(
    z.uuid().nullable(),
    ({ from }) => from,
    "Id of the snapshot whose files it began with; null for a fresh one",
  ),
  last_snapshot: {
    id: sandboxFact(
      z.uuid().nullable(),
      ({ lastSnapshotId }) => lastSnapshotId,
      "Id of the snapshot that `on_timeout` has taken; null if there is none",
    ),
    error: sandboxFact(
      z.string().nullable(),
      ({ lastSnapshotError }) => lastSnapshotError,
      "Why `on_timeout` could not take a snapshot; null if it could, or was not to",
    ),
  },
  limits: {
    [SANDBOX_LIMITS.memoryBytes.field]: limitFact(
      "memoryBytes",
      "Memory of all programs, and of files in memory, together",
    ),
    [SANDBOX_LIMITS.processes.field]: limitFact("processes", "Processes and threads of all executions together"),
    storage: sandboxFact(
      z.enum(SANDBOX_STORAGES),
      ({ limits }) => limits.storage,
      "Where the files are: in `memory`, where they count as well, or on a `disk` of the sandbox",
    ),
    [SANDBOX_LIMITS.diskBytes.field]: limitFact("diskBytes", "Bytes of all files that differ from the image"),
    [SANDBOX_LIMITS.inodes.field]: limitFact("inodes", "Files and directories that differ from the image"),
    [SANDBOX_LIMITS.cpus.field]: limitFact("cpus", "CPUs to which each execution is bound"),
  },
  network: {
    version: sandboxFact(
      z.int().min(1),
      ({ network }) => network.version,
      "Version of the policy: 1 at first, and one higher after each replacement",
    ),
    policy: sandboxFact(
      networkPolicySchema,
      ({ network }) => toNetworkJson(network.network),
      'What its programs may reach over the network. With "none" and version 1, it has no network for good',
    ),
  },
  metadata: sandboxFact(z.record(z.string(), z.string()), ({ metadata }) => ({ ...metadata }), "What the client chose"),
  evidence: {
    controls_applied: sandboxFact(
      z.array(z.string()).nullable(),
      ({ evidence }) => evidence && [...evidence.controls],
      "The controls that confine the sandbox, each read back from the kernel before the first execution. `socket_limit` is one of them where programs can use sockets on the loopback interface, and `lock_limit` where locks of files have an effect",
    ),
    controls_missing: sandboxFact(
      z.array(z.string()).nullable(),
      ({ evidence }) => evidence && [...evidence.controlsMissing],
      "Controls that could not be confirmed. A sandbox with a missing control does not start.",
    ),
    teardown: {
      cleanup_verified: teardownFact(
        z.boolean(),
        ({ reaped, populated, pidsLeft, zombies, residualMounts, groupsLeft, unreadFacts }) =>
          reaped &&
          populated === false &&
          pidsLeft + zombies + residualMounts.length + groupsLeft.length + unreadFacts.length === 0,
        "Whether the kernel confirmed that no process, mount or cgroup of the sandbox is left; null until it has ended, and if its box was lost",
      ),
      processes_left: teardownFact(count, ({ pidsLeft }) => pidsLeft, "Processes that could not be ended"),
      zombies: teardownFact(count, ({ zombies }) => zombies, "Processes that ended and were not reaped"),
      residual_mounts: teardownFact(
        z.array(z.string()),
        ({ residualMounts }) => [...residualMounts],
        "Mounts that could not be removed",
      ),
      groups_left: teardownFact(
        z.array(z.string()),
        ({ groupsLeft }) => [...groupsLeft],
        "Cgroups that could not be removed",
      ),
    },
  },
} as const satisfies Facts;

export const sandboxSchema = schemaOf(SANDBOX_FACTS).describe("A sandbox. Values that are not known yet are null");
export type SandboxRecord = z.output<typeof sandboxSchema>;

export function toSandboxRecord(sandbox: Sandbox): SandboxRecord {
  return valuesOf(SANDBOX_FACTS, sandbox);
}

const executionFact = factsOf<Execution>();

/** The facts of an execution, except for its result, output, metrics and evidence, which are those of the record of a submission. */
export const EXECUTION_FACTS = {
  sandbox_id: executionFact(z.uuid(), ({ sandboxId }) => sandboxId, "Id of the sandbox"),
  number: executionFact(z.int().min(1), ({ number }) => number, "Number of the execution in its sandbox"),
  schema_version: executionFact(z.literal(SCHEMA_VERSION), () => SCHEMA_VERSION, "Version of this schema"),
  kind: executionFact(z.enum(EXECUTION_KINDS), ({ kind }) => kind, "What was given: `argv`, `shell` or `code`"),
  argv: executionFact(
    z.array(z.string()).nullable(),
    ({ argv }) => argv && [...argv],
    `The program and its arguments, of which the first ${EXECUTION_BOUNDS.shownBytes} bytes are kept; null for another kind`,
  ),
  shell: executionFact(
    z.string().nullable(),
    ({ shell }) => shell,
    `The shell command, of which the first ${EXECUTION_BOUNDS.shownBytes} bytes are kept; null for another kind`,
  ),
  truncated: executionFact(
    z.boolean(),
    ({ truncated }) => truncated,
    "Whether only the beginning of `argv` or `shell` is kept",
  ),
  language: executionFact(
    z.string().nullable(),
    ({ language }) => language,
    "Canonical name of the language of the code; null for another kind",
  ),
  cwd: executionFact(z.string(), ({ cwd }) => cwd, "The directory in which it started"),
  background: executionFact(
    z.boolean(),
    ({ background }) => background,
    "Whether processes that its main program leaves remain",
  ),
  terminal: executionFact(z.boolean(), ({ hasTerminal }) => hasTerminal, "Whether it has a terminal"),
  status: executionFact(z.enum(EXECUTION_STATUSES), ({ status }) => status, "`error` if and only if the verdict is IE"),
  timestamps: {
    started_at: executionFact(timeSchema, ({ startedAtMs }) => isoTime(startedAtMs), "ISO 8601, UTC, milliseconds"),
    completed_at: executionFact(timeSchema.nullable(), ({ completedAtMs }) => timeOf(completedAtMs), "When it ended"),
  },
  processes_left: executionFact(
    count.nullable(),
    ({ processesLeft }) => processesLeft,
    "Processes that go on after the end of the main program; 0 unless the execution was started in the background",
  ),
} as const satisfies Facts;

export const executionSchema = z
  .strictObject({
    ...schemaOf(EXECUTION_FACTS).shape,
    result: resultSchema,
    output: outputSchema,
    metrics: metricsSchema.describe("Usage of the execution, including child processes"),
    evidence: evidenceSchema.nullable().describe("Null until the execution has ended"),
    egress: egressSchema
      .nullable()
      .describe("What it reached over the network; null until it has ended, and if its sandbox has no network"),
  })
  .describe("An execution in a sandbox. Values that are not known yet are null");
export type ExecutionRecord = z.output<typeof executionSchema>;

/** A record whose output is decoded while `jsonPieces` writes it. */
export type LongExecutionRecord = Omit<ExecutionRecord, "output"> & Pick<LongRecord, "output">;

/** @returns the record in the present state of the execution. */
export function toLongExecutionRecord(execution: Execution): LongExecutionRecord {
  const { outcome } = execution;
  return {
    ...valuesOf(EXECUTION_FACTS, execution),
    result: valuesOf(RECORD_FACTS.result, execution),
    output: outputRecord(outcome),
    metrics: valuesOf(RECORD_FACTS.metrics, execution),
    evidence: outcome?.evidence ? valuesOf(EVIDENCE_FACTS, outcome.evidence) : null,
    egress: execution.egress,
  };
}

/** @returns the record with decoded output. Decoding takes up to 70 ms per MiB. */
export function toExecutionRecord(execution: Execution): ExecutionRecord {
  const record = toLongExecutionRecord(execution);
  const { stdout, stderr, integrity } = record.output;
  const text = (long: typeof stdout) => (long === null ? null : long.toString());
  return { ...record, output: { stdout: text(stdout), stderr: text(stderr), integrity } };
}
