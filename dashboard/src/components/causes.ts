// Generated from src/domain/causes.ts: npm run generate.

/** The causes that submissions can be filtered by, with their names. A cause says more exactly than a verdict how a run ended. */
export const CAUSES: Readonly<Record<string, string>> = {
  internal_error: "Platform failed",
  oom_kill: "Memory limit",
  pids_limit: "Process limit",
  file_size_limit: "File size limit",
  wall_timeout: "Wall time limit",
  cpu_timeout: "CPU time limit",
  fatal_signal: "Fatal signal",
  nonzero_exit: "Exit code other than 0",
  normal_exit: "Exit code 0",
  compile_error: "Compilation error",
  cancelled: "Cancelled",
  compile_oom_kill: "Compiler: memory limit",
  compile_pids_limit: "Compiler: process limit",
  compile_file_size_limit: "Compiler: file size limit",
  compile_wall_timeout: "Compiler: wall time limit",
  compile_cpu_timeout: "Compiler: CPU time limit",
};

/** Short words for the causes that say more than their verdicts. */
export const CAUSE_WORDS: Readonly<Record<string, string>> = {
  compile_error: "compilation error",
  cancelled: "cancelled",
};
