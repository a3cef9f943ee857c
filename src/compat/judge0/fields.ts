import { isUtf8 } from "node:buffer";
import { isCut } from "../../domain/explain/usage.ts";
import { LongText } from "../../domain/json-pieces.ts";
import { MAX_COMPILE_OUTPUT_BYTES } from "../../domain/outcome.ts";
import { isTerminal, type Program, type Submission } from "../../domain/submission.ts";
import { SCRIPTS } from "./conventions.ts";
import { JUDGE0_STATUSES, presentStatus } from "./status.ts";
import type { Judge0Settings, Judge0Submission } from "./submission.ts";

/** Bytes that are sent as text, or in base64 if the client asks for it. */
class Content {
  readonly bytes: Buffer;
  readonly isCut: boolean;
  constructor(bytes: Buffer, isCut = false) {
    this.bytes = bytes;
    this.isCut = isCut;
  }
}

/** Judge0 encodes with Ruby, whose base64 has lines of 60 characters, each for 45 bytes, with a line feed after each line. */
const LINE_BYTES = 45;
const LINES_AT_ONCE = 128;

/** Bytes in base64, encoded piece by piece while they are sent. */
export class Base64Text extends LongText {
  override *slices(): Generator<string> {
    const step = LINE_BYTES * LINES_AT_ONCE;
    for (let at = 0; at < this.bytes.length; at += step)
      yield this.bytes
        .subarray(at, at + step)
        .toString("base64")
        .replaceAll(/.{1,60}/g, "$&\n");
  }
}

/** An attribute is not UTF-8, and the client did not ask for base64. */
export class NotUtf8Error extends Error {
  override readonly name = "NotUtf8Error";
}

/** A source that is longer than `code` may be is one of the files. A program of several files with scripts has no source. */
function sourceOf({ code, options }: Program): Buffer | undefined {
  if (code.length > 0 || !options?.entry || SCRIPTS.includes(options.entry)) return code;
  return options.files.find(({ name }) => name === options.entry)?.data;
}

type Read = (of: Judge0Submission, languageName: (id: number) => string) => unknown;

/** Null if there are no bytes, such as for a stream to which the program wrote nothing. */
const content = (bytes: Buffer | null | undefined, isCut = false) =>
  bytes && bytes.length > 0 ? new Content(bytes, isCut) : null;
const output =
  (stream: "stdout" | "stderr"): Read =>
  ({ submission: { outcome }, status }) =>
    status === 6 || !outcome ? null : content(outcome.output?.[stream], isCut(outcome, stream));
const setting =
  (name: keyof Judge0Settings, write: (value: never) => unknown = (value) => value): Read =>
  ({ settings }) =>
    write(settings[name] as never);
/** Judge0 sends decimals as text, with at least one digit after the point. */
const decimal = (value: number) => (Number.isInteger(value) ? value.toFixed(1) : String(value));
const secs = (value: number | undefined) => (value === undefined ? null : decimal(Number(value.toFixed(3))));
const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

/** Every field of a submission, in the order of an answer with all fields. */
const FIELDS = {
  source_code: ({ sent }) => content(sent && sourceOf(sent.program)),
  language_id: ({ languageId }) => languageId,
  stdin: ({ sent }) => content(sent?.program.stdin),
  expected_output: ({ sent }) => sent?.expectedOutput && new Content(sent.expectedOutput),
  stdout: output("stdout"),
  status_id: ({ submission, status }) => presentStatus(submission, status),
  created_at: ({ submission }) => iso(submission.createdAtMs),
  finished_at: ({ submission }) => iso(submission.completedAtMs),
  time: ({ submission }) => secs(metricsOf(submission)?.cpu),
  memory: ({ submission }) => metricsOf(submission)?.memory ?? null,
  stderr: output("stderr"),
  token: ({ submission }) => submission.id,
  number_of_runs: setting("number_of_runs"),
  cpu_time_limit: setting("cpu_time_limit", decimal),
  cpu_extra_time: setting("cpu_extra_time", decimal),
  wall_time_limit: setting("wall_time_limit", decimal),
  memory_limit: setting("memory_limit"),
  stack_limit: setting("stack_limit"),
  max_processes_and_or_threads: setting("max_processes_and_or_threads"),
  enable_per_process_and_thread_time_limit: setting("enable_per_process_and_thread_time_limit"),
  enable_per_process_and_thread_memory_limit: setting("enable_per_process_and_thread_memory_limit"),
  max_file_size: setting("max_file_size"),
  compile_output: ({ submission: { outcome }, status, compileOutput }) =>
    status === 6
      ? ((outcome && content(outcome.output?.stderr, isCut(outcome, "stderr"))) ?? content(messageOf(outcome, status)))
      : content(compileOutput, compileOutput?.length === MAX_COMPILE_OUTPUT_BYTES),
  exit_code: ({ submission: { outcome }, status }) => (status === 6 ? null : (outcome?.result.exitCode ?? null)),
  exit_signal: ({ submission: { outcome }, status }) => (status === 6 ? null : (outcome?.result.signal ?? null)),
  message: ({ submission: { outcome }, status }) => content(messageOf(outcome, status)),
  wall_time: ({ submission }) => secs(metricsOf(submission)?.wall),
  compiler_options: setting("compiler_options"),
  command_line_arguments: setting("command_line_arguments"),
  redirect_stderr_to_stdout: setting("redirect_stderr_to_stdout"),
  callback_url: ({ callbackUrl }) => callbackUrl,
  additional_files: ({ sent }) => sent?.additionalFiles && new Base64Text(sent.additionalFiles),
  enable_network: setting("enable_network"),
  status: ({ submission, status }) => {
    const id = presentStatus(submission, status);
    return { id, description: JUDGE0_STATUSES[id] };
  },
  language: ({ languageId }, nameOf) => ({ id: languageId, name: nameOf(languageId) }),
  assay_id: ({ submission }) => submission.id,
} as const satisfies Record<string, Read>;

export type Judge0Field = keyof typeof FIELDS;
export const isJudge0Field = (name: string): name is Judge0Field => Object.hasOwn(FIELDS, name);

/** The fields that `*` selects: only those of Judge0, because its Python client fails for other fields. */
export const ALL_FIELDS = Object.keys(FIELDS).filter((name) => name !== "assay_id") as Judge0Field[];
/** The fields of callbacks, and of an answer to a request without the parameter `fields`. */
export const DEFAULT_FIELDS: readonly Judge0Field[] = [
  "token",
  "time",
  "memory",
  "stdout",
  "stderr",
  "compile_output",
  "message",
  "status",
];
/** The fields that need `sent` (Judge0Submission). */
export const SENT_FIELDS: readonly Judge0Field[] = ["source_code", "stdin", "expected_output", "additional_files"];

/** The fields that need the output of the program. */
export const OUTPUT_FIELDS: readonly Judge0Field[] = ["stdout", "stderr", "compile_output", "message"];

/** How an answer is written. */
export interface Judge0Form {
  readonly fields: readonly Judge0Field[];
  readonly base64: boolean;
  readonly languageName: (id: number) => string;
}

/** The answer, with LongText for contents. @throws NotUtf8Error */
export function judge0Answer(of: Judge0Submission, { fields, base64, languageName }: Judge0Form) {
  const entries = fields.map((name) => {
    const value = (FIELDS[name] as Read)(of, languageName);
    return [name, value instanceof Content ? textOf(value, base64) : (value ?? null)];
  });
  return Object.fromEntries(entries) as Record<string, unknown>;
}

function textOf({ bytes, isCut }: Content, base64: boolean): LongText {
  if (base64) return new Base64Text(bytes);
  if (!isUtf8(isCut ? withoutPart(bytes) : bytes)) throw new NotUtf8Error();
  return new LongText(bytes, isCut);
}

/** Removes an incomplete character at the end, which the output limit has cut. */
function withoutPart(bytes: Buffer): Buffer {
  for (let size = 1; size <= Math.min(3, bytes.length); size++) {
    const byte = bytes[bytes.length - size] as number;
    if (byte >= 0xc0) return bytes.subarray(0, bytes.length - size);
    if (byte < 0x80) break;
  }
  return bytes;
}

/** The metrics in Judge0's units: seconds and kilobytes of 1,024 bytes. */
function metricsOf({ status, outcome }: Judge0Submission["submission"]) {
  const metrics = isTerminal(status) ? outcome?.metrics : null;
  if (!metrics) return undefined;
  const { cpuUsec, wallNs, memoryPeakBytes } = { ...metrics, ...outcome?.means };
  return { cpu: cpuUsec / 1e6, wall: wallNs / 1e9, memory: Math.round(memoryPeakBytes / 1024) };
}

function messageOf(outcome: Submission["outcome"], status: number | null): Buffer | null {
  if (status === 4 && outcome && isCut(outcome, "stdout"))
    return Buffer.from("more output than the limit, which cannot be compared");
  const { cause, exitCode, errorMessage } = outcome?.result ?? {};
  // If the compiler rejected the program, `compile_output` has its messages.
  const isTold = cause === "compile_error" && exitCode !== 0;
  return isTold || !errorMessage ? null : Buffer.from(errorMessage);
}
