/** What signals usually mean for a program that died of one; numbers of Linux, x86-64 and arm64 alike. */
const SIGNALS: Readonly<Record<number, readonly [name: string, means: string]>> = {
  4: [
    "SIGILL",
    "it came to an instruction that the processor does not have; compilers put one where code may never get",
  ],
  5: ["SIGTRAP", "it came to a breakpoint, which some runtimes use to stop themselves"],
  6: ["SIGABRT", "it gave up by calling abort: a failed assertion, an exception that nobody caught, or damaged memory"],
  7: ["SIGBUS", "it used memory behind which there is nothing, such as a file that had become shorter"],
  8: ["SIGFPE", "it divided a whole number by zero, or the result did not fit"],
  9: ["SIGKILL", "one of its own processes killed it; no limit did"],
  11: [
    "SIGSEGV",
    "it used memory that is not its own: a wrong pointer, an index out of range, or recursion without an end",
  ],
  13: ["SIGPIPE", "it wrote to a pipe that nobody reads any more"],
  14: ["SIGALRM", "a timer that it had set itself ran out"],
  15: ["SIGTERM", "one of its own processes asked it to end"],
  24: ["SIGXCPU", "it was sent the signal of the CPU time limit, but had not used that time"],
  25: ["SIGXFSZ", "it was sent the signal of the file size limit, but not by the kernel"],
  31: ["SIGSYS", "it made a system call that is not allowed in the box"],
};

/** `11 (SIGSEGV)`. */
export function signalText(signal: number): string {
  const [name] = SIGNALS[signal] ?? [];
  return name ? `${signal} (${name})` : String(signal);
}

export function meaningOf(signal: number): string {
  return SIGNALS[signal]?.[1] ?? "one of its own processes sent it";
}
