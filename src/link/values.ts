import { z } from "zod";
import {
  type EgressRecord,
  egressSchema,
  type SandboxEgressRecord,
  sandboxEgressSchema,
} from "../domain/egress/egress-record.ts";
import {
  fromNetworkJson,
  type NetworkPolicy,
  NO_NETWORK,
  toNetworkJson,
  type VersionedPolicy,
} from "../domain/egress/policy.ts";
import { LIMIT_FIELD_NAMES, type RequestedLimits } from "../domain/limits.ts";
import type { Evidence, Metrics, Outcome, Output, RunVerdict } from "../domain/outcome.ts";
import type { TeardownReport } from "../domain/report.ts";
import {
  EXECUTION_BOUNDS,
  EXECUTION_KINDS,
  EXECUTION_STATUSES,
  type Execution,
  type ExecutionRequest,
} from "../domain/sandboxes/execution.ts";
import {
  FILE_ERRORS,
  type FileErrorCode,
  type FileEvent,
  type FileInfo,
  type FileRange,
  type WriteOptions,
} from "../domain/sandboxes/files.ts";
import type { ExecuteOptions, ExecutionEvent, SandboxChange, SandboxMeasurement } from "../domain/sandboxes/host.ts";
import {
  ON_TIMEOUT,
  SANDBOX_BOUNDS,
  SANDBOX_END_REASON_NAMES,
  SANDBOX_LIMITS,
  SANDBOX_STATES,
  SANDBOX_STORAGES,
  type Sandbox,
  type SandboxEvidence,
  type SandboxLimitName,
  type SandboxLimits,
} from "../domain/sandboxes/sandbox.ts";
import { executionSchema, toExecutionRecord } from "../domain/sandboxes/sandbox-record.ts";
import { SNAPSHOT_NAME_CHARACTERS, type Snapshot } from "../domain/sandboxes/snapshot.ts";
import { MAX_USAGE_SAMPLES, type UsageSample } from "../domain/sandboxes/usage.ts";

/*
 * The values of links as JSON. Decoding is strict and bounded, because the other process can have been taken over: what has a wrong type
 * or a wrong length is a violation of the protocol. Unknown fields are dropped on both sides, so that another release can have more of them.
 */

const MIB = 1_048_576;
/** The longest path that the service accepts, or a worker reports: a name of a file that is not UTF-8 grows when it is decoded. */
const PATH_CHARACTERS = 16_384;
/** The most of one list of the evidence, and the longest text in it. */
const [LIST, TEXT] = [256, 4_096];

const count = z.int().min(0);
const time = z.int();
const text = z.string().max(TEXT);
const path = z.string().max(PATH_CHARACTERS);
const list = z.array(text).max(LIST).readonly();
const id = z.string().max(64);

/** Bytes, as Base64. */
function bytes(most: number) {
  return z.codec(z.string().max(Math.ceil(most / 3) * 4), z.instanceof(Buffer), {
    decode: (base64, context) => {
      const decoded = Buffer.from(base64, "base64");
      const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
      if (base64.length % 4 === 0 && decoded.length === (base64.length / 4) * 3 - padding) return decoded;
      context.issues.push({ code: "custom", message: "must be Base64", input: "" });
      return z.NEVER;
    },
    encode: (decoded) => decoded.toString("base64"),
  });
}

/** A record without names that have a meaning for objects of JavaScript. */
function texts(entries: number, keyCharacters: number, valueCharacters: number) {
  return z
    .record(z.string().max(keyCharacters), z.string().max(valueCharacters))
    .refine((record) => Object.keys(record).length <= entries, "has too many entries");
}

const environment = (bounds: { readonly entries: number; readonly variableBytes: number }) =>
  texts(bounds.entries, bounds.variableBytes, bounds.variableBytes);

export const env = environment(SANDBOX_BOUNDS.env);

const limits = z.object({
  ...(Object.fromEntries(Object.keys(SANDBOX_LIMITS).map((name) => [name, count])) as Record<
    SandboxLimitName,
    typeof count
  >),
  /** Workers of earlier releases have only sandboxes in memory, and do not say so. */
  storage: z.enum(SANDBOX_STORAGES).default("memory"),
}) satisfies z.ZodType<SandboxLimits>;

/** A network policy, which can have been narrowed: then no bound of requests says how many rules it has. */
export const networkPolicy = z.codec(z.unknown(), z.custom<NetworkPolicy>(), {
  decode: (json, context) => {
    try {
      return fromNetworkJson(json);
    } catch {
      context.issues.push({ code: "custom", message: "must be a network policy", input: "" });
      return z.NEVER;
    }
  },
  encode: toNetworkJson,
});

/** Workers of earlier releases have only sandboxes without a network, and do not say so. */
const network = z
  .object({ version: z.int().min(1), network: networkPolicy })
  .default(NO_NETWORK) satisfies z.ZodType<VersionedPolicy>;

export const sandboxEgress = sandboxEgressSchema.nullable() satisfies z.ZodType<SandboxEgressRecord | null>;

const teardown = z.object({
  reaped: z.boolean(),
  populated: z.boolean().nullable(),
  pidsLeft: count,
  zombies: count,
  residualMounts: list,
  groupsLeft: list,
  unreadFacts: list,
}) satisfies z.ZodType<TeardownReport>;

const sandboxEvidence = z.object({
  controls: list,
  controlsMissing: list,
  teardown: teardown.nullable(),
}) satisfies z.ZodType<SandboxEvidence>;

const { keyCharacters, valueCharacters, entries } = SANDBOX_BOUNDS.metadata;
const metadata = texts(entries, keyCharacters, valueCharacters);

export const sandbox = z.object({
  id,
  accountId: id,
  projectId: id.nullable(),
  keyId: id,
  state: z.enum(SANDBOX_STATES),
  createdAtMs: time,
  startedAtMs: time.nullable(),
  endedAtMs: time.nullable(),
  endReason: z.enum(SANDBOX_END_REASON_NAMES).nullable(),
  lifetimeSecs: count,
  idleSecs: count,
  limits,
  metadata,
  worker: id,
  evidence: sandboxEvidence.nullable(),
  from: id.nullable(),
  onTimeout: z.enum(ON_TIMEOUT),
  network,
  lastSnapshotId: id.nullable(),
  lastSnapshotError: text.nullable(),
}) satisfies z.ZodType<Sandbox>;

export const snapshotName = z.string().max(SNAPSHOT_NAME_CHARACTERS).nullable();

export const snapshot = z.object({
  id,
  accountId: id,
  projectId: id.nullable(),
  keyId: id,
  sandboxId: id,
  name: snapshotName,
  bytes: count,
  files: count,
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  createdAtMs: time,
  storeId: id,
}) satisfies z.ZodType<Snapshot>;

export const sandboxChange = z.object({
  lifetimeSecs: count.exactOptional(),
  idleSecs: count.exactOptional(),
  metadata: metadata.exactOptional(),
}) satisfies z.ZodType<SandboxChange>;

export const measurement = z.object({
  memoryBytes: count,
  memoryPeakBytes: count,
  cpuUsec: count,
  processes: count,
  oomKills: count,
  diskBytes: count,
  inodes: count,
}) satisfies z.ZodType<SandboxMeasurement>;

export const usageSamples = z
  .array(z.object({ atMs: time, cpuUsec: count, memoryBytes: count, processes: count, diskBytes: count }))
  .max(MAX_USAGE_SAMPLES)
  .readonly() satisfies z.ZodType<readonly UsageSample[]>;

const { rows, cols } = { rows: z.int(), cols: z.int() };
export const terminalSize = { rows, cols };

const requestedLimits = z.object(
  Object.fromEntries(LIMIT_FIELD_NAMES.map((name) => [name, z.number().exactOptional()])),
) as unknown as z.ZodType<RequestedLimits>;

export const executionRequest = z.object({
  kind: z.enum(EXECUTION_KINDS),
  argv: z
    .array(z.string().max(EXECUTION_BOUNDS.argumentBytes))
    .max(EXECUTION_BOUNDS.arguments)
    .readonly()
    .exactOptional(),
  shell: z.string().max(EXECUTION_BOUNDS.argumentBytes).exactOptional(),
  language: z.string().max(64).exactOptional(),
  code: bytes(EXECUTION_BOUNDS.codeBytes).exactOptional(),
  stdin: bytes(EXECUTION_BOUNDS.stdinBytes),
  openInput: z.boolean(),
  cwd: z.string().max(EXECUTION_BOUNDS.cwdBytes).nullable(),
  env: environment(EXECUTION_BOUNDS.env),
  limits: requestedLimits,
  background: z.boolean(),
  terminal: z.object(terminalSize).nullable(),
}) satisfies z.ZodType<ExecutionRequest>;

export const executeOptions = z.object({
  keyId: id.exactOptional(),
  isAwaited: z.boolean().exactOptional(),
}) satisfies z.ZodType<ExecuteOptions>;

/** The most output of one stream; limits of executions are lower. */
const OUTPUT_BYTES = 2 * MIB;

const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);

const outcome = z.object({
  status: z.enum(["completed", "error"]),
  // The record, into which an execution is converted below, says what these have.
  result: z.custom<RunVerdict>(isObject),
  output: z
    .object({
      stdout: bytes(OUTPUT_BYTES),
      stderr: bytes(OUTPUT_BYTES),
      integrity: z.enum(["complete", "truncated_by_judge_limit", "crash_mid_write", "write_error"]),
    })
    .nullable() satisfies z.ZodType<Output | null>,
  metrics: z.custom<Metrics>(isObject).nullable(),
  evidence: z.custom<Evidence>(isObject).nullable(),
});

const executionFields = z.object({
  sandboxId: id,
  accountId: id,
  projectId: id.nullable(),
  keyId: id,
  number: z.int().min(1),
  kind: z.enum(EXECUTION_KINDS),
  argv: z.array(z.string().max(TEXT)).max(EXECUTION_BOUNDS.arguments).readonly().nullable(),
  shell: z.string().max(TEXT).nullable(),
  truncated: z.boolean(),
  language: z.string().max(64).nullable(),
  cwd: z.string().max(TEXT),
  background: z.boolean(),
  hasTerminal: z.boolean(),
  status: z.enum(EXECUTION_STATUSES),
  startedAtMs: time,
  completedAtMs: time.nullable(),
  outcome: outcome.nullable(),
  processesLeft: count.nullable(),
  /** Workers of earlier releases do not know it. */
  egress: egressSchema.nullable().default(null) satisfies z.ZodType<EgressRecord | null>,
});

/** An execution, whose record has the published form. What is not part of the record does not cross. */
export const execution = z.codec(executionFields, z.custom<Execution>(isObject), {
  decode: (fields, context) => {
    try {
      const withoutOutput = fields.outcome && { ...fields.outcome, output: null };
      executionSchema.parse(toExecutionRecord({ ...fields, outcome: withoutOutput }));
      return fields;
    } catch {
      context.issues.push({ code: "custom", message: "must have a record", input: "" });
      return z.NEVER;
    }
  },
  encode: ({ outcome: all, ...rest }) => ({ ...rest, outcome: all && publicOutcome(all) }) as never,
});

function publicOutcome({ status, result, output, metrics, evidence }: Outcome) {
  return { status, result, output, metrics, evidence };
}

export const executionEvent = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("output"),
    stream: z.enum(["stdout", "stderr"]),
    at: count,
    bytes: bytes(65_536),
  }),
  z.object({ type: z.literal("end"), execution }),
]) satisfies z.ZodType<ExecutionEvent>;

export const fileInfo = z.object({
  path,
  type: z.enum(["file", "directory", "link", "other"]),
  bytes: count,
  mode: z.int().min(0).max(0o7777),
  modifiedAtMs: z.number(),
  etag: z.string().regex(/^[0-9a-f-]{1,128}$/),
  target: path.exactOptional(),
}) satisfies z.ZodType<FileInfo>;

export const fileRange = z
  .union([z.object({ from: count, to: count.nullable() }), z.object({ last: count })])
  .nullable() satisfies z.ZodType<FileRange | null>;

export const writeOptions = z.object({
  mode: z.int().min(0).max(0o777).exactOptional(),
  ifMatch: z.string().max(256).exactOptional(),
  ifNoneMatch: z.string().max(256).exactOptional(),
  createParents: z.boolean().exactOptional(),
}) satisfies z.ZodType<WriteOptions>;

export const fileEvent = z.union([
  z.object({ type: z.enum(["created", "changed", "removed"]), path }),
  z.object({ type: z.literal("moved"), path, from: path }),
  z.object({ type: z.literal("overflow") }),
]) satisfies z.ZodType<FileEvent>;

export const fileErrorCode = z.enum(Object.keys(FILE_ERRORS) as [FileErrorCode]);
export { count, id, path };
