import {
  cpuEnd,
  cpuExit,
  type ExplainedRun,
  type Explanation,
  ending,
  leftBehind,
  limitOfMemory,
  limitText,
  memoryUsed,
  timeUsed,
  waited,
} from "./explain/facts.ts";
import { meaningOf, signalText } from "./explain/signals.ts";
import { countText } from "./explain/units.ts";
import type { Usage } from "./explain/usage.ts";
import type { Actor, Verdict } from "./outcome.ts";
import type { StepReport } from "./report.ts";

const SIGXFSZ = 25;
const SIGXCPU = 24;
const SIGKILL = 9;

/** The tolerance for a late kill: a box may use its CPU budget times this ratio, plus this time. */
export const CPU_LATE_RATIO = 1.05;
export const CPU_LATE_USEC = 50_000;

/** A rule for the verdict on one step. */
export interface Rule {
  readonly actor: Actor;
  /** Why this evidence proves the verdict, and why the rule has this position. */
  readonly why: string;
  readonly when: (report: StepReport) => boolean;
  /** A message for users; null on success. */
  readonly message: (report: StepReport) => string | null;
}

/** Everything about a cause: the verdict that it gives, the rules that find it, and how it is explained to people. */
export interface CauseRow {
  readonly verdict: Verdict;
  /** The name of the cause in lists. */
  readonly name: string;
  /** How a run ended, in short words, if the cause says more than the verdict. */
  readonly words?: string;
  /** Whether it is a limit that ended the step. If it was the compile step, the cause has the prefix `compile_`. */
  readonly isLimit?: true;
  /** The limit that the program reached. */
  readonly usage?: Usage["name"];
  /** What proves the cause, for each actor, for readers of docs/verdicts.md. */
  readonly evidence: Readonly<Partial<Record<Actor, string>>>;
  readonly rules: readonly Rule[];
  readonly explain: (facts: ExplainedRun) => Explanation;
}

const exitedZero = (report: StepReport): boolean => report.exitCode === 0;

/**
 * The verdict table. To find the verdict on a step, its rules are tried in the order of the table, and the first one that holds decides. A
 * failure of the platform precedes all rules (src/verdict/validate-report.ts). The rules above `fatal_signal` are based on counters of the
 * kernel and records of the launcher. In these rules, values that a program controls (exit code, signals to itself, output) can prevent a
 * verdict, but never cause one, except for FSE on a host without BPF.
 */
export const CAUSES = {
  internal_error: {
    verdict: "IE",
    name: "Platform failed",
    evidence: {
      judge:
        "The platform failed: there was no box, a control or counter could not be read, the report contradicted itself, or the run was lost. A submission of the profile `judge` without live input gets this verdict only after three such attempts. The status is `error`, and there is neither output nor metrics.",
    },
    rules: [],
    explain: (facts: ExplainedRun): Explanation => ({
      title: "The platform failed, not your program",
      text: `Assay cannot judge this run: ${facts.record.result.error_message ?? "the reason is unknown"}. Assay reports neither a verdict without proof nor the output of such a run. A judge run without live input is attempted three times before it ends as IE. Other runs are attempted once: they may have had side effects, or used up their input.`,
      whyNot: [
        {
          verdict: "RE",
          text: "No failure of a program causes IE. This result says nothing about the program: run it again.",
        },
        { verdict: "AC", text: "The program may have succeeded, but there is no trustworthy evidence." },
      ],
    }),
  },
  oom_kill: {
    verdict: "MLE",
    name: "Memory limit",
    isLimit: true,
    usage: "memory",
    evidence: {
      kernel:
        "The OOM killer killed a process in the box's own cgroup. A box may use at most 48 MiB of its memory limit, or an eighth of the limit if that is more, inside the kernel. Above this bound, the launcher lowers the memory limit to the present use. Above the [bound of page tables](security.md#memory), it lets the OOM killer end the box. In both cases, `error_message` names the bound.",
    },
    rules: [
      {
        actor: "kernel",
        why: "The OOM killer counted a kill in this leaf. First, because a later event (a full fork table, a timeout, the exit code of a surviving parent) is a consequence of the kill.",
        when: (report: StepReport) => report.oomKills > 0,
        message: (report: StepReport) =>
          report.walkableBytes > report.walkableLimitBytes
            ? `memory limit exceeded: killed by the kernel's OOM killer, because the page tables of one process times the number of processes and threads were ${bytes(report.walkableBytes)}, and a run may have ${bytes(report.walkableLimitBytes)}`
            : report.kernelBytes > report.kernelLimitBytes
              ? `memory limit exceeded: killed by the kernel's OOM killer, with ${bytes(report.kernelBytes)} in the kernel (mappings, page tables, files, queued data), where a run may have ${bytes(report.kernelLimitBytes)}`
              : `memory limit of ${bytes(report.memoryLimitBytes)} exceeded: killed by the kernel's OOM killer`,
      },
    ],
    explain: (facts: ExplainedRun): Explanation => ({
      title: "Memory limit exceeded",
      text: `All processes of the program together, including the files that they wrote, needed more memory than the limit of ${limitOfMemory(facts)}. The kernel's OOM killer ended the program: it counted ${countText(facts.group?.oom_kill_events ?? 0, "kill")} in this box, which was created for this run alone.`,
      whyNot: [
        {
          verdict: "RE",
          text:
            facts.record.result.exit_code === null
              ? "The program did not exit, so it has no exit code. A program that fails to allocate memory and exits is RE."
              : `Exit code ${facts.record.result.exit_code} comes from a process that remained after the kernel had killed another one. It is a consequence of the kill.`,
        },
        {
          verdict: "SIG",
          text: "The OOM killer uses signal 9 (SIGKILL), which a program can also send to itself. The kernel's counter tells them apart, and no program can change that counter.",
        },
        { verdict: "TLE", text: "The OOM kill came first." },
      ],
    }),
  },
  pids_limit: {
    verdict: "PLE",
    name: "Process limit",
    isLimit: true,
    usage: "processes",
    evidence: {
      kernel: "The cgroup refused a process or thread, and the program did not exit with 0.",
    },
    rules: [
      {
        actor: "kernel",
        why: "The cgroup refused a fork. A program that handles the refusal and exits 0 is accepted; the counter stays in the evidence. Before the timers, because a timer ends a fork bomb.",
        when: (report: StepReport) => report.forksRefused > 0 && !exitedZero(report),
        message: (report: StepReport) =>
          `process limit of ${report.processLimit} reached: the kernel refused to start another process or thread`,
      },
    ],
    explain: (facts: ExplainedRun): Explanation => ({
      title: "Process limit exceeded",
      text: `The program tried to have more than ${facts.group ? countText(facts.group.process_limit, "process or thread", "processes and threads") : "the permitted number of processes and threads"} at the same time. The kernel refused to start another one and counted the refusal. The program did not handle the refusal and ${ending(facts)}.`,
      whyNot: [
        {
          verdict: "RE",
          text: "A failure without a refused process would be RE. This failure followed a refusal by the kernel.",
        },
        { verdict: "AC", text: "A program that handles the refusal and exits with code 0 is accepted." },
        {
          verdict: "TLE",
          text: "A program that keeps starting processes is eventually stopped by a timer. The process limit was reached before that.",
        },
      ],
    }),
  },
  file_size_limit: {
    verdict: "FSE",
    name: "File size limit",
    isLimit: true,
    evidence: {
      kernel:
        "The kernel sent SIGXFSZ, which a tracepoint sees even if the program ignores the signal, and the program did not exit with 0.",
    },
    rules: [
      {
        actor: "kernel",
        why: "The kernel itself sent SIGXFSZ, which BPF observes even if the runtime ignores the signal. A program that handles EFBIG and exits 0 is accepted.",
        when: (report: StepReport) => report.fsizeSignals > 0 && !exitedZero(report),
        message: () => "file size limit exceeded",
      },
      {
        actor: "kernel",
        why: "Without BPF, SIGXFSZ ended the program. A program can send this signal to itself, so the row applies only without a counter.",
        when: (report: StepReport) => report.signalSource === "none" && report.signal === SIGXFSZ,
        message: () => "file size limit exceeded",
      },
    ],
    explain: (facts: ExplainedRun): Explanation => ({
      title: "File size limit exceeded",
      text: `The program tried to write a file beyond the maximum size of a single file. The kernel refused the write and sent signal 25 (SIGXFSZ). The program did not handle this and ${ending(facts)}.`,
      whyNot: [
        {
          verdict: "RE",
          text: "Many runtimes ignore the signal and report a write error to the program, which then fails. On a host with BPF, the kernel's own count of the signal proves the cause.",
        },
        {
          verdict: "SIG",
          text: "On a host with BPF, a program that sends this signal to itself is SIG: signals from the kernel are counted separately.",
        },
        {
          verdict: "MLE",
          text: `Files also count as memory, but the memory limit was not reached: ${memoryUsed(facts)}.`,
        },
      ],
    }),
  },
  wall_timeout: {
    verdict: "TLE",
    name: "Wall time limit",
    isLimit: true,
    usage: "wall",
    evidence: {
      judge: "The launcher's timer of the wall time fired. It is recorded before the kill.",
    },
    rules: [
      {
        actor: "judge",
        why: "The launcher's wall timer fired and was recorded before the signal was sent. How the program ended at that moment does not matter.",
        when: (report: StepReport) => report.killReason === "wall",
        message: (report: StepReport) => `wall time limit exceeded: killed after ${seconds(report.wallNs / 1e9)}`,
      },
    ],
    explain: (facts: ExplainedRun): Explanation => ({
      title: "Time limit exceeded: wall time",
      text: `The program was still running when its wall time limit was reached${limitText(facts, "wallMs")}, so it was killed: ${timeUsed(facts)}.${waited(facts)}`,
      whyNot: [
        { verdict: "RE", text: "The program did not exit before it was killed." },
        {
          verdict: "SIG",
          text: "The launcher sent the signal that killed it, and had recorded the timeout before that.",
        },
        { verdict: "MLE", text: `The program was not killed for memory: ${memoryUsed(facts)}.` },
      ],
    }),
  },
  cpu_timeout: {
    verdict: "TLE",
    name: "CPU time limit",
    isLimit: true,
    usage: "cpu",
    evidence: {
      judge:
        "The box used up its CPU time. The launcher records this before it kills the box. If the box exceeded its CPU time only while it ended, the verdict is TLE if the final count exceeds the limit by more than 5 % plus 50 ms.",
      kernel:
        "The kernel sent a signal of RLIMIT_CPU, and the cgroup confirms the CPU time. This limit is a backstop at twice the wall limit plus 1 s: it applies only if the launcher did not act.",
    },
    rules: [
      {
        actor: "judge",
        why: "The launcher's CPU budget for the whole cgroup was reached and recorded before the signal was sent.",
        when: (report: StepReport) => report.killReason === "cpu",
        message: (report: StepReport) =>
          `CPU time limit exceeded: killed after ${seconds(report.cpuUsec / 1e6)} of CPU time`,
      },
      {
        actor: "judge",
        why: "By the kernel's count at the end of its last process, the box used more than its budget plus the tolerance for a late kill. This happens during exit, which no timer can end sooner. A program cannot handle used CPU time, so exit code 0 does not matter.",
        when: (report: StepReport) => report.cpuUsec > report.cpuLimitUsec * CPU_LATE_RATIO + CPU_LATE_USEC,
        message: (report: StepReport) =>
          `CPU time limit exceeded: ${seconds(report.cpuUsec / 1e6)} of CPU time at its end`,
      },
      {
        actor: "kernel",
        why: "The kernel itself sent SIGXCPU, and the cgroup proves that the time was used. A backstop: the launcher ends the box earlier. Unlike a refused fork, a program cannot handle used CPU time, so exit code 0 does not matter.",
        when: (report: StepReport) => report.cpuRlimitSignals > 0 && spentCpuBudget(report),
        message: (report: StepReport) => `CPU time limit exceeded after ${seconds(report.cpuUsec / 1e6)} of CPU time`,
      },
      {
        actor: "kernel",
        why: "A signal of RLIMIT_CPU ended the program, and the cgroup proves that the CPU time was used: a signal that the program sends to itself is not enough.",
        when: spentCpuRlimit,
        message: (report: StepReport) => `CPU time limit exceeded after ${seconds(report.cpuUsec / 1e6)} of CPU time`,
      },
    ],
    explain: (facts: ExplainedRun): Explanation => ({
      title: "Time limit exceeded: CPU time",
      text: `The processes of the program together used up their CPU time limit${limitText(facts, "cpuMs")}, ${cpuEnd(facts)}: ${timeUsed(facts)}. Waiting does not count as CPU time. Threads that compute at the same time each count.`,
      whyNot: [
        { verdict: "RE", text: cpuExit(facts) },
        {
          verdict: "SIG",
          text: "A signal alone would be SIG. Here the kernel's accounting proves that the program used the CPU time.",
        },
        { verdict: "MLE", text: `The program was not killed for memory: ${memoryUsed(facts)}.` },
      ],
    }),
  },
  fatal_signal: {
    verdict: "SIG",
    name: "Fatal signal",
    evidence: {
      runtime: "Another signal ended the program, possibly one that it sent to itself.",
    },
    rules: [
      {
        actor: "runtime",
        why: "Any other signal, including its own SIGKILL or SIGXFSZ: no counter of the platform changed, so the program caused it, or the client that talks with it sent the signal.",
        when: (report: StepReport) => report.signal !== null,
        message: ({ signal, sentSignal }: StepReport) =>
          `killed by signal ${signalText(signal ?? 0)}${signal === sentSignal ? ", which the client sent" : ""}`,
      },
    ],
    explain: (facts: ExplainedRun): Explanation => ({
      title: `Killed by signal ${signalText(facts.record.result.signal ?? 0)}`,
      text: `A signal killed the program. This signal usually means that ${meaningOf(facts.record.result.signal ?? 0)}. No limit was reached, so the cause is the program itself, unless the error message says that the client sent the signal.`,
      whyNot: [
        {
          verdict: "RE",
          text: "RE is the verdict for a program that exits. This one was killed before it could return an exit code.",
        },
        {
          verdict: "MLE",
          text: `MLE requires that the kernel's OOM killer killed a process of the program. Its counter is ${facts.group?.oom_kill_events ?? 0}, and no program can change that counter.`,
        },
        {
          verdict: "TLE",
          text: "The launcher records a timeout before it kills the program. It did not record one.",
        },
      ],
    }),
  },
  nonzero_exit: {
    verdict: "RE",
    name: "Exit code other than 0",
    evidence: {
      runtime: "The program exited with a code other than 0.",
    },
    rules: [
      {
        actor: "runtime",
        why: "The program exited and reported a failure.",
        when: (report: StepReport) => report.exitCode !== 0,
        message: (report: StepReport) => `exited with code ${report.exitCode}`,
      },
    ],
    explain: (facts: ExplainedRun): Explanation => ({
      title: "Runtime error",
      text: `The program exited with code ${facts.record.result.exit_code}. Any code other than 0 reports a failure, such as an uncaught exception or an error that the program detected. The reason is usually at the end of its standard error.`,
      whyNot: [
        {
          verdict: "MLE",
          text: `The kernel did not kill any of its processes for memory: the OOM kill counter is ${facts.group?.oom_kill_events ?? 0}, and ${memoryUsed(facts)}. A program that fails to allocate memory and exits (MemoryError, bad_alloc) is RE.`,
        },
        { verdict: "SIG", text: "No signal killed it: a program that is killed by a signal has no exit code." },
        { verdict: "TLE", text: `The program ended within its time limits: ${timeUsed(facts)}.` },
      ],
    }),
  },
  normal_exit: {
    verdict: "AC",
    name: "Exit code 0",
    evidence: {
      runtime: "The program exited with 0, and no row above applies.",
    },
    rules: [
      {
        actor: "runtime",
        why: "The program exited with 0, and no row above matches.",
        when: () => true,
        message: () => null,
      },
    ],
    explain: (facts: ExplainedRun): Explanation => ({
      title: "Accepted",
      text: `The program exited with code 0, which means success. No limit and no signal ended it. Assay does not know the expected output: compare it yourself.${leftBehind(facts)}`,
      whyNot: [
        { verdict: "RE", text: "RE is the verdict for a program that exits with a code other than 0." },
        { verdict: "TLE", text: `The program finished in time: ${timeUsed(facts)}.` },
        { verdict: "MLE", text: `The program stayed within its memory limit: ${memoryUsed(facts)}.` },
      ],
    }),
  },
  compile_error: {
    verdict: "RE",
    name: "Compilation error",
    words: "compilation error",
    evidence: {},
    rules: [],
    explain: (facts: ExplainedRun): Explanation => ({
      title: "Compilation failed",
      text: `The compiler ${facts.record.result.exit_code === null ? `was killed by signal ${signalText(facts.record.result.signal ?? 0)}` : `exited with code ${facts.record.result.exit_code}`}, so the program was never run. The messages of the compiler are in the standard error.`,
      whyNot: [
        { verdict: "SIG", text: "A compiler that crashes on a program counts as a compiler that rejects it." },
        { verdict: "TLE", text: "The compiler ended within its own time and memory limits." },
      ],
    }),
  },
  cancelled: {
    verdict: "IE",
    name: "Cancelled",
    words: "cancelled",
    evidence: {},
    rules: [],
    explain: (): Explanation => ({
      title: "Cancelled",
      text: "The submission was ended before it had a result, by a request of the account or because its judgement did not need it any more. A run under way was killed, and its evidence was not collected.",
      whyNot: [],
    }),
  },
} as const satisfies Readonly<Record<string, CauseRow>>;

type Rows = typeof CAUSES;
/** A cause without the name of its step. That of a step which only compiled begins with `compile_` if it is a limit. */
export type StepCause = keyof Rows;
/** A limit that ends a step. */
export type LimitCause = { [Name in StepCause]: Rows[Name] extends { isLimit: true } ? Name : never }[StepCause];
export type Cause = StepCause | `compile_${LimitCause}`;

const STEP_CAUSES = Object.keys(CAUSES) as readonly StepCause[];
export const LIMIT_CAUSES = STEP_CAUSES.filter((cause): cause is LimitCause => "isLimit" in CAUSES[cause]);
export const CAUSE_NAMES: readonly Cause[] = [
  ...STEP_CAUSES,
  ...LIMIT_CAUSES.map((cause) => `compile_${cause}` as const),
];

/** The rules in their order, each with the cause that it finds. */
export const RULES: readonly (Rule & { readonly cause: StepCause; readonly verdict: Verdict })[] = STEP_CAUSES.flatMap(
  (cause) => {
    const { verdict, rules }: CauseRow = CAUSES[cause];
    return rules.map((rule) => ({ ...rule, cause, verdict }));
  },
);

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
