/** Common signals, with their usual meaning if they kill a program. The numbers are the same on x86-64 and arm64 Linux. */
const SIGNALS: Readonly<Record<number, readonly [name: string, means?: string]>> = {
  1: ["SIGHUP"],
  2: ["SIGINT"],
  3: ["SIGQUIT"],
  4: ["SIGILL", "it executed an invalid instruction; compilers put one where execution must never arrive"],
  5: ["SIGTRAP", "it reached a breakpoint, which some runtimes use to stop themselves"],
  6: ["SIGABRT", "it called abort after a failed assertion, an uncaught exception or memory corruption"],
  7: ["SIGBUS", "it accessed mapped memory without content behind it, such as a mapped file that had been truncated"],
  8: ["SIGFPE", "it divided an integer by zero, or the result did not fit"],
  9: ["SIGKILL", "one of its own processes killed it"],
  10: ["SIGUSR1"],
  11: ["SIGSEGV", "it accessed invalid memory: a wrong pointer, an index out of range or infinite recursion"],
  12: ["SIGUSR2"],
  13: ["SIGPIPE", "it wrote to a pipe that has no reader"],
  14: ["SIGALRM", "a timer that it had set expired"],
  15: ["SIGTERM", "one of its own processes terminated it"],
  24: ["SIGXCPU", "it received the signal of the CPU time limit without having used that time"],
  25: ["SIGXFSZ", "it received the signal of the file size limit, but not from the kernel"],
  31: ["SIGSYS", "it made a system call that is not allowed in the box"],
};

/** The number and the name of a signal, such as `11 (SIGSEGV)`. */
export function signalText(signal: number): string {
  const [name] = SIGNALS[signal] ?? [];
  return name ? `${signal} (${name})` : String(signal);
}

export function meaningOf(signal: number): string {
  return SIGNALS[signal]?.[1] ?? "one of its own processes sent it";
}
