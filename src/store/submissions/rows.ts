import type { ProfileName } from "../../domain/limits.ts";
import type { Outcome } from "../../domain/outcome.ts";
import { decodeProgramOptions, encodeProgramOptions } from "../../domain/program-options.ts";
import type { Program, Status, Submission } from "../../domain/submission.ts";
import type { Row } from "../database/schema.ts";

/** The columns that toSubmission needs. */
export const SUBMISSION_COLUMNS = [
  "submissions.id",
  "submissions.account_id",
  "submissions.key_id",
  "submissions.project_id",
  "submissions.language",
  "submissions.profile",
  "submissions.status",
  "submissions.attempts",
  "submissions.created_at",
  "submissions.started_at",
  "submissions.completed_at",
] as const;

type Named = Pick<
  Row<"submissions">,
  | "id"
  | "account_id"
  | "key_id"
  | "project_id"
  | "language"
  | "profile"
  | "status"
  | "attempts"
  | "created_at"
  | "started_at"
  | "completed_at"
>;

/**
 * The status for clients. A submission that has completed some of its runs and waits for its next run is pending in the database, but
 * `running` for its client.
 */
export function statusOf({ status, started_at }: Pick<Row<"submissions">, "status" | "started_at">): Status {
  return status === "pending" && started_at !== null ? "running" : (status as Status);
}

export function toSubmission(row: Named, outcome: Outcome | null): Submission {
  return {
    id: row.id,
    accountId: row.account_id,
    keyId: row.key_id,
    projectId: row.project_id,
    language: row.language,
    profile: row.profile as ProfileName,
    status: statusOf(row),
    attempts: row.attempts,
    createdAtMs: row.created_at,
    startedAtMs: row.started_at,
    completedAtMs: row.completed_at,
    outcome,
  };
}

export const PROGRAM_COLUMNS = ["code", "stdin", "additions"] as const satisfies readonly (keyof Row<"programs">)[];

export function fromProgram({ code, stdin, options }: Program): Omit<Row<"programs">, "submission_seq"> {
  return { code, stdin, additions: options ? Buffer.from(encodeProgramOptions(options), "utf8") : null };
}

export function toProgram({ code, stdin, additions }: Omit<Row<"programs">, "submission_seq">): Program {
  return { code, stdin, ...(additions && { options: decodeProgramOptions(additions.toString("utf8")) }) };
}

/** Encodes a program for a single column. */
export function encodeProgram({ code, stdin, options }: Program): Buffer {
  const bytes = [code, stdin].map((one) => one.toString("base64"));
  return Buffer.from(JSON.stringify([...bytes, options ? encodeProgramOptions(options) : null]), "utf8");
}

export function decodeProgram(bytes: Buffer): Program {
  const [code = "", stdin = "", options] = JSON.parse(bytes.toString("utf8")) as [string, string, string | null];
  return {
    code: Buffer.from(code, "base64"),
    stdin: Buffer.from(stdin, "base64"),
    ...(options && { options: decodeProgramOptions(options) }),
  };
}

/** The JSON in the column `body`: the outcome without what other columns and tables have. Stored rows have other names for some fields. */
interface Body extends Omit<Outcome, "output" | "samples" | "compileOutput" | "foreignNote" | "result" | "runStats"> {
  readonly judgement: Outcome["result"];
  readonly course?: Outcome["runStats"];
  readonly integrity: NonNullable<Outcome["output"]>["integrity"] | null;
}

export function fromOutcome(outcome: Outcome): Omit<Row<"outcomes">, "submission_seq"> {
  const { output, result, runStats, compileOutput, samples: _, foreignNote: __, ...rest } = outcome;
  const body: Body = {
    judgement: result,
    ...rest,
    ...(runStats && { course: runStats }),
    integrity: output?.integrity ?? null,
  };
  return {
    stdout: output?.stdout ?? null,
    stderr: output?.stderr ?? null,
    body: JSON.stringify(body),
    compile_output: compileOutput ?? null,
  };
}

/** The outcome of a row, without the compile output, which is read apart from it. */
export function toOutcome(row: Pick<Row<"outcomes">, "stdout" | "stderr" | "body">): Outcome {
  const { integrity, judgement, course, ...rest } = JSON.parse(row.body) as Body;
  const { stdout, stderr } = row;
  return {
    ...rest,
    result: judgement,
    ...(course && { runStats: course }),
    output: integrity && stdout && stderr ? { stdout, stderr, integrity } : null,
  };
}
