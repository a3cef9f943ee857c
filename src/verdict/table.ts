import type { Actor, Cause, LimitCause, Verdict } from "../domain/outcome.ts";
import type { StepReport } from "../domain/report.ts";

const SIGXFSZ = 25;
const SIGXCPU = 24;
const SIGKILL = 9;

/** The tolerance for a late kill: a box may use its CPU budget times this ratio, plus this time. */
export const CPU_LATE_RATIO = 1.05;
export const CPU_LATE_USEC = 50_000;

export interface Row {
  readonly verdict: Exclude<Verdict, "IE">;
  readonly cause: Exclude<Cause, "compile_error" | "internal_error" | `compile_${LimitCause}`>;
  readonly actor: Actor;
  /** Why this evidence proves the verdict, and why the row has this position. */
  readonly why: string;
  readonly when: (report: StepReport) => boolean;
  /** A message for users; null on success. */
  readonly message: (report: StepReport) => string | null;
}

const exitedZero = (report: StepReport): boolean => report.exitCode === 0;

/**
 * The rules for the verdict on one step: the first matching row decides. A failure of the platform precedes all rows
 * (validate-report.ts). The rows above `SIG` are based on counters of the kernel and records of the launcher. In these rows, values that a
 * program controls (exit code, signals to itself, output) can prevent a verdict, but never cause one, except for FSE on a host without BPF.
 */
export const TABLE: readonly Row[] = [
  {
    verdict: "MLE",
    cause: "oom_kill",
    actor: "kernel",
    why: "The OOM killer counted a kill in this leaf. First, because a later event (a full fork table, a timeout, the exit code of a surviving parent) is a consequence of the kill.",
    when: (report) => report.oomKills > 0,
    message: (report) =>
      report.walkableBytes > report.walkableLimitBytes
        ? `memory limit exceeded: killed by the kernel's OOM killer, because the page tables of one process times the number of processes and threads were ${bytes(report.walkableBytes)}, and a run may have ${bytes(report.walkableLimitBytes)}`
        : report.kernelBytes > report.kernelLimitBytes
          ? `memory limit exceeded: killed by the kernel's OOM killer, with ${bytes(report.kernelBytes)} in the kernel (mappings, page tables, files, queued data), where a run may have ${bytes(report.kernelLimitBytes)}`
          : `memory limit of ${bytes(report.memoryLimitBytes)} exceeded: killed by the kernel's OOM killer`,
  },
  {
    verdict: "PLE",
    cause: "pids_limit",
    actor: "kernel",
    why: "The cgroup refused a fork. A program that handles the refusal and exits 0 is accepted; the counter stays in the evidence. Before the timers, because a timer ends a fork bomb.",
    when: (report) => report.pidsRefused > 0 && !exitedZero(report),
    message: (report) =>
      `process limit of ${report.pidsLimit} reached: the kernel refused to start another process or thread`,
  },
  {
    verdict: "FSE",
    cause: "file_size_limit",
    actor: "kernel",
    why: "The kernel itself sent SIGXFSZ, which BPF observes even if the runtime ignores the signal. A program that handles EFBIG and exits 0 is accepted.",
    when: (report) => report.fsizeSignals > 0 && !exitedZero(report),
    message: () => "file size limit exceeded",
  },
  {
    verdict: "FSE",
    cause: "file_size_limit",
    actor: "kernel",
    why: "Without BPF, SIGXFSZ ended the program. A program can send this signal to itself, so the row applies only without a counter.",
    when: (report) => report.signalSource === "none" && report.signal === SIGXFSZ,
    message: () => "file size limit exceeded",
  },
  {
    verdict: "TLE",
    cause: "wall_timeout",
    actor: "judge",
    why: "The launcher's wall timer fired and was recorded before the signal was sent. How the program ended at that moment does not matter.",
    when: (report) => report.killReason === "wall",
    message: (report) => `wall time limit exceeded: killed after ${seconds(report.wallNs / 1e9)}`,
  },
  {
    verdict: "TLE",
    cause: "cpu_timeout",
    actor: "judge",
    why: "The launcher's CPU budget for the whole cgroup was reached and recorded before the signal was sent.",
    when: (report) => report.killReason === "cpu",
    message: (report) => `CPU time limit exceeded: killed after ${seconds(report.cpuUsec / 1e6)} of CPU time`,
  },
  {
    verdict: "TLE",
    cause: "cpu_timeout",
    actor: "judge",
    why: "By the kernel's count at the end of its last process, the box used more than its budget plus the tolerance for a late kill. This happens during exit, which no timer can end sooner. A program cannot handle used CPU time, so exit code 0 does not matter.",
    when: (report) => report.cpuUsec > report.cpuLimitUsec * CPU_LATE_RATIO + CPU_LATE_USEC,
    message: (report) => `CPU time limit exceeded: ${seconds(report.cpuUsec / 1e6)} of CPU time at its end`,
  },
  {
    verdict: "TLE",
    cause: "cpu_timeout",
    actor: "kernel",
    why: "The kernel itself sent SIGXCPU, and the cgroup proves that the time was used. A backstop: the launcher ends the box earlier. Unlike a refused fork, a program cannot handle used CPU time, so exit code 0 does not matter.",
    when: (report) => report.cpuRlimitSignals > 0 && spentCpuBudget(report),
    message: (report) => `CPU time limit exceeded after ${seconds(report.cpuUsec / 1e6)} of CPU time`,
  },
  {
    verdict: "TLE",
    cause: "cpu_timeout",
    actor: "kernel",
    why: "A signal of RLIMIT_CPU ended the program, and the cgroup proves that the CPU time was used: a signal that the program sends to itself is not enough.",
    when: spentCpuRlimit,
    message: (report) => `CPU time limit exceeded after ${seconds(report.cpuUsec / 1e6)} of CPU time`,
  },
  {
    verdict: "SIG",
    cause: "fatal_signal",
    actor: "runtime",
    why: "Any other signal, including its own SIGKILL or SIGXFSZ: no counter of the platform changed, so the program caused it, or the client that talks with it sent the signal.",
    when: (report) => report.signal !== null,
    message: ({ signal, sentSignal }) =>
      `killed by signal ${signalName(signal ?? 0)}${signal === sentSignal ? ", which the client sent" : ""}`,
  },
  {
    verdict: "RE",
    cause: "nonzero_exit",
    actor: "runtime",
    why: "The program exited and reported a failure.",
    when: (report) => report.exitCode !== 0,
    message: (report) => `exited with code ${report.exitCode}`,
  },
  {
    verdict: "AC",
    cause: "normal_exit",
    actor: "runtime",
    why: "The program exited with 0, and no row above matches.",
    when: () => true,
    message: () => null,
  },
];

/**
 * Whether the cgroup confirms a signal of RLIMIT_CPU. That limit counts ticks, by which a process can be charged for time that it did not
 * use; the count of the cgroup is exact. The rlimit is more than a second above the CPU budget, so with a tolerance of one second, the
 * program has still used more than its budget.
 */
function spentCpuBudget(report: StepReport): boolean {
  const limit = report.rlimits.cpu_secs;
  return limit !== undefined && report.cpuUsec / 1e6 >= limit.soft - 1;
}

/** Whether a signal of RLIMIT_CPU ended the program: SIGXCPU comes at the soft limit, and SIGKILL at the hard limit. */
function spentCpuRlimit(report: StepReport): boolean {
  const limit = report.rlimits.cpu_secs;
  if (!limit) return false;
  const spentSecs = report.cpuUsec / 1e6;
  if (report.signal === SIGXCPU) return report.signalSource === "none" && spentSecs >= limit.soft;
  return report.signal === SIGKILL && spentSecs >= limit.hard;
}

function bytes(count: number): string {
  return count >= 1 << 20 && count % (1 << 20) === 0 ? `${count / (1 << 20)} MiB` : `${count} bytes`;
}

function seconds(value: number): string {
  return `${value.toFixed(3)} s`;
}

/** Common signals; the numbers are the same on x86-64 and arm64 Linux. */
const SIGNAL_NAMES: Readonly<Record<number, string>> = {
  1: "SIGHUP",
  2: "SIGINT",
  3: "SIGQUIT",
  4: "SIGILL",
  5: "SIGTRAP",
  6: "SIGABRT",
  7: "SIGBUS",
  8: "SIGFPE",
  9: "SIGKILL",
  10: "SIGUSR1",
  11: "SIGSEGV",
  12: "SIGUSR2",
  13: "SIGPIPE",
  14: "SIGALRM",
  15: "SIGTERM",
  24: "SIGXCPU",
  25: "SIGXFSZ",
  31: "SIGSYS",
};

function signalName(signal: number): string {
  const name = SIGNAL_NAMES[signal];
  return name ? `${signal} (${name})` : String(signal);
}
