/** The causes that submissions can be filtered by, with their names. A cause says more exactly than a verdict how a run ended. */
export const CAUSES: Readonly<Record<string, string>> = {
  compile_error: "Compilation error",
  nonzero_exit: "Exit code other than 0",
  fatal_signal: "Fatal signal",
  oom_kill: "Memory limit",
  wall_timeout: "Wall time limit",
  cpu_timeout: "CPU time limit",
  pids_limit: "Process limit",
  file_size_limit: "File size limit",
  compile_oom_kill: "Compiler: memory limit",
  compile_wall_timeout: "Compiler: wall time limit",
  compile_cpu_timeout: "Compiler: CPU time limit",
  compile_pids_limit: "Compiler: process limit",
  compile_file_size_limit: "Compiler: file size limit",
  cancelled: "Cancelled",
  internal_error: "Platform failed",
  normal_exit: "Exit code 0",
};
