import type { ForeignRequest, ForeignSubmission } from "../../domain/foreign-api.ts";
import { JUDGE0_NAME } from "./conventions.ts";

/** The settings of a submission, with the names and in the units of Judge0. The values are those in force. */
export interface Judge0Settings {
  readonly compiler_options: string | null;
  readonly command_line_arguments: string | null;
  readonly cpu_time_limit: number;
  readonly cpu_extra_time: number;
  readonly wall_time_limit: number;
  readonly memory_limit: number;
  readonly stack_limit: number;
  readonly max_processes_and_or_threads: number;
  readonly enable_per_process_and_thread_time_limit: boolean;
  readonly enable_per_process_and_thread_memory_limit: boolean;
  readonly max_file_size: number;
  readonly redirect_stderr_to_stdout: boolean;
  readonly enable_network: boolean;
  readonly number_of_runs: number;
}

/** The content of a request of a Judge0 client, without the program. */
export interface Judge0Request {
  readonly languageId: number;
  readonly settings: Judge0Settings;
  /** If null, the output is not compared. */
  readonly expectedOutput: Buffer | null;
  /** The archive of additional files, as the client sent it. */
  readonly additionalFiles: Buffer | null;
  /** The URL of the callback, and the endpoint of the project that has the origin of this URL. */
  readonly callback: ForeignRequest["callback"];
}

export function toForeignRequest(request: Judge0Request): ForeignRequest {
  const { languageId, settings, expectedOutput, additionalFiles, callback } = request;
  return {
    api: JUDGE0_NAME,
    category: languageId,
    data: JSON.stringify(settings),
    reference: expectedOutput,
    attachment: additionalFiles,
    callback,
  };
}

/** A submission of a client of Judge0. */
export interface Judge0Submission
  extends Pick<ForeignSubmission, "submission" | "callbackUrl" | "compileOutput" | "sentBytes"> {
  readonly languageId: number;
  readonly settings: Judge0Settings;
  /** The Judge0 status with which it ended; null until then. */
  readonly status: number | null;
  /** What the client sent; null if no requested field needs it. */
  readonly sent:
    | (Pick<Judge0Request, "expectedOutput" | "additionalFiles"> &
        Pick<NonNullable<ForeignSubmission["sent"]>, "program">)
    | null;
}

export function toJudge0Submission(foreign: ForeignSubmission): Judge0Submission {
  const { submission, callbackUrl, compileOutput, sentBytes, category, data, note, sent } = foreign;
  return {
    submission,
    callbackUrl,
    compileOutput,
    sentBytes,
    languageId: category,
    settings: JSON.parse(data) as Judge0Settings,
    status: note,
    sent: sent && { program: sent.program, expectedOutput: sent.reference, additionalFiles: sent.attachment },
  };
}
