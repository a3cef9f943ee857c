import type { Program, Submission } from "../submission.ts";

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
  /** The URL of the callback, and the endpoint of the project that has the origin of this URL. The endpoint signs the callback. */
  readonly callback: { readonly url: string; readonly endpointId: string } | null;
}

/** The most bytes that are stored of what the compiler wrote for a program that compiled. Each answer reads them. */
export const MAX_COMPILE_OUTPUT_BYTES = 16_384;

/** A submission that runs several times, one run after the other, until a run is not accepted. */
export interface Repeats {
  readonly runs: number;
  /** If null, the output is not compared. */
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
  /** What the compiler wrote for a program that compiled; null if it wrote nothing. */
  readonly compileOutput: Buffer | null;
  /** The size of `sent`, even if it is not read. */
  readonly sentBytes: number;
  /** What the client sent; null if no requested field needs it. */
  readonly sent: (Pick<Judge0Request, "expectedOutput" | "additionalFiles"> & { readonly program: Program }) | null;
}
