import type { Program, Submission } from "../submission.ts";

/** The settings of a submission by Judge0's names and in its units, with the values that hold. */
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
  /** Null: the output is not compared. */
  readonly expectedOutput: Buffer | null;
  /** The archive, as it was sent. */
  readonly additionalFiles: Buffer | null;
  /** The endpoint of the project at whose origin the URL is signs the callback. */
  readonly callback: { readonly url: string; readonly endpointId: string } | null;
}

/** Bytes of the output of a successful compilation, few enough to be read with each answer. */
export const MAX_COMPILE_OUTPUT_BYTES = 16_384;

/** The runs of a submission, one after the other, until one is not accepted. */
export interface Repeats {
  readonly runs: number;
  /** Null: the output is not compared. */
  readonly expected: Buffer | null;
}

/** A submission of a client of Judge0. */
export interface Judge0Submission {
  readonly submission: Submission;
  readonly languageId: number;
  readonly settings: Judge0Settings;
  readonly callbackUrl: string | null;
  /** The Judge0 status with which it ended; null until then. */
  readonly status: number | null;
  /** The output of a successful compilation; null if it is empty. */
  readonly compileOutput: Buffer | null;
  /** Bytes of `sent`. */
  readonly sentBytes: number;
  /** Read for the fields that need it. */
  readonly sent: (Pick<Judge0Request, "expectedOutput" | "additionalFiles"> & { readonly program: Program }) | null;
}
