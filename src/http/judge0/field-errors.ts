import { ClientError } from "../../domain/error.ts";

/** Faults by field, which Judge0 answers with 422. */
export class FieldErrors extends Error {
  override readonly name = "FieldErrors";
  readonly fields: Readonly<Record<string, readonly string[]>>;

  constructor(fields: Readonly<Record<string, readonly string[]>>) {
    super("a submission is not valid");
    this.fields = fields;
  }
}

/** Collects faults, so that an answer has all of them. */
export class Faults {
  readonly #fields: Record<string, string[]> = {};

  add(field: string, fault: string): void {
    this.#fields[field] = [...(this.#fields[field] ?? []), fault];
  }

  has(field: string): boolean {
    return Object.hasOwn(this.#fields, field);
  }

  /** @throws FieldErrors if there are any. */
  check(): void {
    if (Object.keys(this.#fields).length > 0) throw new FieldErrors(this.#fields);
  }
}

/** Judge0's field by the beginning of an error of the program, which names ours. */
const OURS: readonly (readonly [begin: RegExp, field: string])[] = [
  [/^code\b/, "source_code"],
  [/^stdin\b/, "stdin"],
  [/^(files|entry)\b/, "additional_files"],
  [/^args\b/, "command_line_arguments"],
  [/^compiler_options\b/, "compiler_options"],
  [/^limits\.cpu_time_secs\b/, "cpu_time_limit"],
  [/^limits\.wall_time_secs\b/, "wall_time_limit"],
  [/^limits\.memory_bytes\b/, "memory_limit"],
  [/^limits\.stack_bytes\b/, "stack_limit"],
  [/^limits\.processes\b/, "max_processes_and_or_threads"],
  [/^limits\.file_bytes\b/, "max_file_size"],
];

/** An error of one part of the program, as the fault of Judge0's field; others are returned as they are. */
export function asFieldErrors(error: unknown): unknown {
  if (!(error instanceof ClientError) || error.status !== 400) return error;
  const [, field] = OURS.find(([begin]) => begin.test(error.message)) ?? [];
  const fault = error.message.replace(/^[^ :]+(\."(?:[^"\\]|\\.)*"[^ :]*)?:? ?/, "");
  return field === undefined ? error : new FieldErrors({ [field]: [fault] });
}

/** Judge0's text for a full queue. */
export function asJudge0(error: unknown): unknown {
  return error instanceof ClientError && error.code === "queueFull"
    ? new ClientError("queueFull", "queue is full", error.headers, {})
    : error;
}
