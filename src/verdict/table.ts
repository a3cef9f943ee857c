import type { Actor, LimitCause, Verdict } from "../domain/outcome.ts";
import type { StepReport } from "../domain/report.ts";

const SIGXFSZ = 25;
const SIGXCPU = 24;
const SIGKILL = 9;

/** How far a box may come beyond its CPU budget before its kill has taken effect. */
export const CPU_LATE_RATIO = 1.05;
export const CPU_LATE_USEC = 50_000;

export interface Row {
  readonly verdict: Exclude<Verdict, "IE">;
  readonly cause: LimitCause | "fatal_signal" | "nonzero_exit" | "normal_exit";
  readonly actor: Actor;
  /** Why this evidence proves the verdict, and why it stands where it does. */
  readonly why: string;
  readonly when: (report: StepReport) => boolean;
  /** For people; null on success. */
  readonly message: (report: StepReport) => string | null;
}

const exitedZero = (report: StepReport): boolean => report.exitCode === 0;

/**
 * The judgement of one step: the first row that holds wins. Rows 2 to 8 of the decision
 * table; row 1, the platform's own failure, is distrust.ts and comes before all of them.
 * The upper rows read only what the kernel or the supervisor counted. What a program
 * controls (exit code, signals to itself, output) appears above `SIG` only where it can
 * take a verdict away, never where it could bring one about.
 */
export const TABLE: readonly Row[] = [
  {
    verdict: "MLE",
    cause: "oom_kill",
    actor: "kernel",
    why: "The OOM killer counted a kill in this leaf. First, because what follows a kill (a full fork table, a timeout, an exit code of a surviving parent) is its consequence.",
    when: (report) => report.oomKills > 0,
    message: (report) =>
      report.kernelBytes > report.kernelLimitBytes
        ? `memory limit exceeded: killed by the kernel's OOM killer, with ${bytes(report.kernelBytes)} in the kernel (mappings, page tables, files, queued data), of which a run may have ${bytes(report.kernelLimitBytes)}`
        : `memory limit of ${bytes(report.memoryLimitBytes)} exceeded: killed by the kernel's OOM killer`,
  },
  {
    verdict: "PLE",
    cause: "pids_limit",
    actor: "kernel",
    why: "The cgroup refused a fork. A program that copes with the refusal and exits 0 is accepted; the counter stays in the evidence. Before the timers, because a fork bomb ends at one of them.",
    when: (report) => report.pidsRefused > 0 && !exitedZero(report),
    message: (report) =>
      `process limit of ${report.pidsLimit} reached: the kernel refused to start another process or thread`,
  },
  {
    verdict: "FSE",
    cause: "file_size_limit",
    actor: "kernel",
    why: "The kernel itself sent SIGXFSZ, seen by BPF whether or not the runtime ignores the signal. A caught EFBIG and exit 0 is accepted.",
    when: (report) => report.fsizeSignals > 0 && !exitedZero(report),
    message: () => "file size limit exceeded",
  },
  {
    verdict: "FSE",
    cause: "file_size_limit",
    actor: "kernel",
    why: "Without BPF: SIGXFSZ ended it. A program can send itself that signal, so only where there is no counter.",
    when: (report) => report.signalSource === "none" && report.signal === SIGXFSZ,
    message: () => "file size limit exceeded",
  },
  {
    verdict: "TLE",
    cause: "wall_timeout",
    actor: "judge",
    why: "Our wall timer fired, recorded before the signal was sent. How the program ended in that instant does not matter.",
    when: (report) => report.killReason === "wall",
    message: (report) => `wall time limit exceeded: killed after ${seconds(report.wallNs / 1e9)}`,
  },
  {
    verdict: "TLE",
    cause: "cpu_timeout",
    actor: "judge",
    why: "Our CPU budget for the whole cgroup fired, recorded before the signal was sent.",
    when: (report) => report.killReason === "cpu",
    message: (report) => `CPU time limit exceeded: killed after ${seconds(report.cpuUsec / 1e6)} of CPU time`,
  },
  {
    verdict: "TLE",
    cause: "cpu_timeout",
    actor: "judge",
    why: "By the kernel's count at the end of its last process, the box spent more than its budget and what a kill may come late: in exit, where no timer of ours can end it sooner. Time that is spent cannot be coped with, so exit 0 does not help.",
    when: (report) => report.cpuUsec > report.cpuLimitUsec * CPU_LATE_RATIO + CPU_LATE_USEC,
    message: (report) => `CPU time limit exceeded: ${seconds(report.cpuUsec / 1e6)} of CPU time at its end`,
  },
  {
    verdict: "TLE",
    cause: "cpu_timeout",
    actor: "kernel",
    why: "The kernel itself sent SIGXCPU, and the cgroup shows that the time was spent. Unlike a refused fork, spent time cannot be coped with, so exit 0 does not help.",
    when: (report) => report.cpuRlimitSignals > 0 && spentCpuBudget(report),
    message: (report) => `CPU time limit exceeded after ${seconds(report.cpuUsec / 1e6)} of CPU time`,
  },
  {
    verdict: "TLE",
    cause: "cpu_timeout",
    actor: "kernel",
    why: "It died of the signal that RLIMIT_CPU sends, and the cgroup shows that the CPU time was really spent: a signal to itself is not enough.",
    when: spentCpuRlimit,
    message: (report) => `CPU time limit exceeded after ${seconds(report.cpuUsec / 1e6)} of CPU time`,
  },
  {
    verdict: "SIG",
    cause: "fatal_signal",
    actor: "runtime",
    why: "Any other signal, its own SIGKILL or SIGXFSZ included: no counter of the platform moved, so it is the program's.",
    when: (report) => report.signal !== null,
    message: (report) => `killed by signal ${signalName(report.signal ?? 0)}`,
  },
  {
    verdict: "RE",
    cause: "nonzero_exit",
    actor: "runtime",
    why: "It ended by itself and said that it failed.",
    when: (report) => report.exitCode !== 0,
    message: (report) => `exited with code ${report.exitCode}`,
  },
  {
    verdict: "AC",
    cause: "normal_exit",
    actor: "runtime",
    why: "It ended by itself, with 0, and nothing above holds.",
    when: () => true,
    message: () => null,
  },
];

/**
 * RLIMIT_CPU counts ticks, and a process can be charged for time that it did not use. The group's count is exact. The
 * rlimit stands more than a second above the budget, so one second less is not too much.
 */
function spentCpuBudget(report: StepReport): boolean {
  const limit = report.rlimits.cpu_secs;
  return limit !== undefined && report.cpuUsec / 1e6 >= limit.soft - 1;
}

/** RLIMIT_CPU sends SIGXCPU at the soft limit and SIGKILL at the hard one. */
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

/** Linux numbers, x86-64 and arm64 alike; the ones a program meets in practice. */
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
