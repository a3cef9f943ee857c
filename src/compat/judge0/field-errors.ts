import { ClientError } from "../../domain/error.ts";

/** The faults of a request by field. As in Judge0, the response has the status 422. */
export class FieldErrors extends Error {
  override readonly name = "FieldErrors";
  readonly fields: Readonly<Record<string, readonly string[]>>;

  constructor(fields: Readonly<Record<string, readonly string[]>>) {
    super("a submission is not valid");
    this.fields = fields;
  }
}

/** Collects faults, so that the response has all of them, not only the first. */
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

/** Which field of Judge0 an error is about. The error begins with the name of our field. */
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

/** Converts an error about one of our fields to a fault of Judge0's field. Other errors are returned as they are. */
export function asFieldErrors(error: unknown): unknown {
  if (!(error instanceof ClientError) || error.status !== 400) return error;
  const [, field] = OURS.find(([begin]) => begin.test(error.message)) ?? [];
  const fault = error.message.replace(/^[^ :]+(\."(?:[^"\\]|\\.)*"[^ :]*)?:? ?/, "");
  return field === undefined ? error : new FieldErrors({ [field]: [fault] });
}

/** Gives the error of a full queue Judge0's text. Other errors are returned as they are. */
export function asJudge0(error: unknown): unknown {
  return error instanceof ClientError && error.code === "queueFull"
    ? new ClientError("queueFull", "queue is full", error.headers, {})
    : error;
}
