import { z } from "zod";
import { CAUSE_NAMES } from "./causes.ts";
import { EVIDENCE_FACTS, evidenceSchema } from "./evidence-facts.ts";
import { type Facts, factsOf, schemaOf, valuesOf } from "./facts.ts";
import { LongText } from "./json-pieces.ts";
import { PROFILE_NAMES } from "./limits.ts";
import { type Integrity, type Metrics, type Outcome, type RunVerdict, VERDICTS } from "./outcome.ts";
import { STATUSES, type Submission } from "./submission.ts";

/**
 * The version of the record of a submission, as clients and webhooks receive it. Its JSON is built only here, from RECORD_FACTS below and
 * EVIDENCE_FACTS (evidence-facts.ts). Groups and fields are always present, and unknown values are null, with two exceptions: an rlimit that is not in force is
 * absent, and so is `judge_actions` if the launcher did not intervene.
 */
export const SCHEMA_VERSION = "2.0" as const;

const count = z.int().min(0);
export const verdictSchema = z.enum(VERDICTS);
export const causeSchema = z.enum(CAUSE_NAMES);
export const profileSchema = z.enum(PROFILE_NAMES);
export const statusSchema = z.enum(STATUSES);
export const timeSchema = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({ format: "date-time" });

const fact = factsOf<Submission>();
const resultFact = <Schema extends z.ZodType>(
  schema: Schema,
  read: (result: RunVerdict) => z.output<Schema> | null,
  meaning: string,
) => fact(schema.nullable(), ({ outcome }) => outcome && read(outcome.result), meaning);
const metric = <Schema extends z.ZodType>(
  schema: Schema,
  read: (metrics: Metrics) => z.output<Schema> | null,
  meaning: string,
) => fact(schema.nullable(), ({ outcome }) => (outcome?.metrics ? read(outcome.metrics) : null), meaning);

/** The facts of a record, except for its output and its evidence. */
export const RECORD_FACTS = {
  id: fact(z.uuid(), ({ id }) => id, "Id of the submission"),
  schema_version: fact(z.literal(SCHEMA_VERSION), () => SCHEMA_VERSION, "Version of this schema"),
  language: fact(z.string(), ({ language }) => language, "Canonical name of the language"),
  profile: fact(profileSchema, ({ profile }) => profile, "Set of limits"),
  status: fact(statusSchema, ({ status }) => status, "`error` if and only if the verdict is IE"),
  timestamps: {
    created_at: fact(timeSchema, ({ createdAtMs }) => isoTime(createdAtMs), "ISO 8601, UTC, milliseconds"),
    started_at: fact(
      timeSchema.nullable(),
      ({ startedAtMs }) => (startedAtMs === null ? null : isoTime(startedAtMs)),
      "When its run started",
    ),
    completed_at: fact(
      timeSchema.nullable(),
      ({ completedAtMs }) => (completedAtMs === null ? null : isoTime(completedAtMs)),
      "When it ended",
    ),
  },
  result: {
    verdict: resultFact(verdictSchema, ({ verdict }) => verdict, "How the run ended"),
    cause: resultFact(causeSchema, ({ cause }) => cause, "Why the run ended"),
    actor: resultFact(z.enum(["runtime", "kernel", "judge"]), ({ actor }) => actor, "The party that ended the run"),
    exit_code: resultFact(z.int().min(0).max(255), ({ exitCode }) => exitCode, "Null unless the program exited"),
    signal: resultFact(z.int().min(1).max(64), ({ signal }) => signal, "The signal that ended the program"),
    error_message: resultFact(
      z.string(),
      ({ errorMessage }) => errorMessage,
      "A sentence for display; null on success",
    ),
  },
  metrics: {
    cpu_time_secs: metric(
      z.number().min(0),
      ({ cpuUsec }) => round(cpuUsec / 1e6, 6),
      "CPU time of all processes of the program",
    ),
    wall_time_secs: metric(
      z.number().min(0),
      ({ wallNs }) => round(wallNs / 1e9, 6),
      "Time from the start to the end of the program",
    ),
    memory_peak_bytes: metric(
      count,
      ({ memoryPeakBytes }) => memoryPeakBytes,
      "The most memory that all processes of the program used at the same time",
    ),
    cpu_wall_ratio: metric(
      z.number().min(0),
      ({ cpuUsec, wallNs }) => (wallNs > 0 ? round(cpuUsec / 1e6 / (wallNs / 1e9), 4) : null),
      "CPU time divided by wall time",
    ),
    divergence: metric(
      z.enum(["cpu_bound", "sleep_or_block_bound", "host_interference_suspected"]),
      ({ divergence }) => divergence,
      "What explains the ratio",
    ),
  },
} as const satisfies Facts;

const NOT_UTF8 = "Invalid UTF-8 becomes U+FFFD; without U+FFFD, the text is exactly the program's output";

export const resultSchema = schemaOf(RECORD_FACTS.result);
export const metricsSchema = schemaOf(RECORD_FACTS.metrics);
export const outputSchema = z.strictObject({
  stdout: z.string().nullable().describe(NOT_UTF8),
  stderr: z.string().nullable().describe(NOT_UTF8),
  integrity: z
    .enum(["complete", "truncated_by_judge_limit", "crash_mid_write", "write_error"])
    .nullable()
    .describe("Whether all output was captured, regardless of encoding"),
});

const { id, schema_version, language, profile, status, timestamps } = schemaOf(RECORD_FACTS).shape;
/** The whole record. Its fields have the order of the JSON. */
export const recordSchema = z
  .strictObject({
    ...{ id, schema_version, language, profile, status, timestamps },
    result: resultSchema,
    output: outputSchema,
    metrics: metricsSchema.describe("Usage of the execute step, including child processes"),
    evidence: evidenceSchema.nullable().describe("Null until a run has been reported"),
  })
  .describe("The current state of a submission. Values that are not known yet are null");

export type SubmissionRecord = z.output<typeof recordSchema>;

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
    readonly integrity: Integrity | null;
  };
}

/** A record without its output. */
export type RecordWithoutOutput = Omit<SubmissionRecord, "output">;

/** The end of a run, of a submission or in a sandbox, as explanations use it. */
export type RunRecord = Pick<SubmissionRecord, "result" | "metrics" | "evidence">;

/** @returns the record in the present state of the submission. */
export function toLongRecord(submission: Submission): LongRecord {
  const { outcome } = submission;
  const { result, metrics, ...facts } = valuesOf(RECORD_FACTS, submission);
  const evidence = outcome?.evidence ? valuesOf(EVIDENCE_FACTS, outcome.evidence) : null;
  return { ...facts, result, output: outputRecord(outcome), metrics, evidence };
}

/** Formats milliseconds since the epoch as ISO 8601 in UTC, with milliseconds and `Z`. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** The output in a record. */
export function outputRecord(outcome: Outcome | null): LongRecord["output"] {
  if (!outcome?.output) return { stdout: null, stderr: null, integrity: null };
  const { stdout, stderr, integrity } = outcome.output;
  // If the output limit cut a stream inside a character, that character is omitted: otherwise, it would look like invalid UTF-8.
  const cut = integrity === "truncated_by_judge_limit";
  return { stdout: new LongText(stdout, cut), stderr: new LongText(stderr, cut), integrity };
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
