import { type Cause, LIMIT_CAUSES, type LimitCause, type RunStats } from "../outcome.ts";
import type { RecordWithoutOutput } from "../record.ts";
import { meaningOf, signalText } from "./signals.ts";
import { bytesText, countText, secondsText } from "./units.ts";

/** An explanation of a verdict, for a reader who does not know it. */
export interface Explanation {
  readonly title: string;
  readonly text: string;
  /** Why similar verdicts do not apply: "Why not RE?" */
  readonly whyNot: readonly { readonly verdict: string; readonly text: string }[];
}

interface Facts {
  readonly record: RecordWithoutOutput;
  readonly runStats: RunStats | undefined;
  /** The limits and counters of the cgroup of the step that decided the verdict; undefined without evidence. */
  readonly group: NonNullable<RecordWithoutOutput["evidence"]>["limits"]["cgroup"] | undefined;
}

/** @returns null for a submission that has not ended. */
export function explain(record: RecordWithoutOutput, runStats?: RunStats): Explanation | null {
  const cause = record.result.cause as Cause | null;
  if (cause === null) return null;
  const facts: Facts = { record, runStats, group: record.evidence?.limits.cgroup };
  const limit = limitOfCompiler(cause);
  return limit ? ofCompiler(EXPLAINED[limit](facts)) : EXPLAINED[cause as keyof typeof EXPLAINED](facts);
}

const EXPLAINED: Readonly<
  Record<LimitCause | Exclude<Cause, LimitCause | `compile_${string}`> | "compile_error", (facts: Facts) => Explanation>
> = {
  normal_exit: (facts) => ({
    title: "Accepted",
    text: `The program exited with code 0, which means success. No limit and no signal ended it. Assay does not know the expected output: compare it yourself.${leftBehind(facts)}`,
    whyNot: [
      { verdict: "RE", text: "RE is the verdict for a program that exits with a code other than 0." },
      { verdict: "TLE", text: `The program finished in time: ${timeUsed(facts)}.` },
      { verdict: "MLE", text: `The program stayed within its memory limit: ${memoryUsed(facts)}.` },
    ],
  }),
  nonzero_exit: (facts) => ({
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
  fatal_signal: ({ record, group }) => ({
    title: `Killed by signal ${signalText(record.result.signal ?? 0)}`,
    text: `A signal killed the program. This signal usually means that ${meaningOf(record.result.signal ?? 0)}. No limit was reached, so the cause is the program itself, unless the error message says that the client sent the signal.`,
    whyNot: [
      {
        verdict: "RE",
        text: "RE is the verdict for a program that exits. This one was killed before it could return an exit code.",
      },
      {
        verdict: "MLE",
        text: `MLE requires that the kernel's OOM killer killed a process of the program. Its counter is ${group?.oom_kill_events ?? 0}, and no program can change that counter.`,
      },
      {
        verdict: "TLE",
        text: "The launcher records a timeout before it kills the program. It did not record one.",
      },
    ],
  }),
  compile_error: ({ record }) => ({
    title: "Compilation failed",
    text: `The compiler ${record.result.exit_code === null ? `was killed by signal ${signalText(record.result.signal ?? 0)}` : `exited with code ${record.result.exit_code}`}, so the program was never run. The messages of the compiler are in the standard error.`,
    whyNot: [
      { verdict: "SIG", text: "A compiler that crashes on a program counts as a compiler that rejects it." },
      { verdict: "TLE", text: "The compiler ended within its own time and memory limits." },
    ],
  }),
  oom_kill: (facts) => ({
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
  wall_timeout: (facts) => ({
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
  cpu_timeout: (facts) => ({
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
  pids_limit: (facts) => ({
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
  file_size_limit: (facts) => ({
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
  cancelled: () => ({
    title: "Cancelled",
    text: "The submission was ended before it had a result, by a request of the account or because its judgement did not need it any more. A run under way was killed, and its evidence was not collected.",
    whyNot: [],
  }),
  internal_error: ({ record }) => ({
    title: "The platform failed, not your program",
    text: `Assay cannot judge this run: ${record.result.error_message ?? "the reason is unknown"}. Assay reports neither a verdict without proof nor the output of such a run. A judge run is attempted three times before it ends as IE. An agent run is attempted once, because it may have had side effects.`,
    whyNot: [
      {
        verdict: "RE",
        text: "No failure of a program causes IE. This result says nothing about the program: run it again.",
      },
      { verdict: "AC", text: "The program may have succeeded, but there is no trustworthy evidence." },
    ],
  }),
};

function limitOfCompiler(cause: Cause): LimitCause | undefined {
  return LIMIT_CAUSES.find((limit) => cause === `compile_${limit}`);
}

/** Turns the explanation of a limit of the execute step into that of the same limit of the compile step. */
function ofCompiler({ title, text, whyNot }: Explanation): Explanation {
  return {
    title: `${title} by the compiler`,
    text: `The compiler reached a limit, so your program was never run. ${text.replaceAll("The program", "The compiler").replaceAll("the program", "the compiler")}`,
    whyNot: [
      {
        verdict: "RE",
        text: "A program that the compiler rejects is RE. Here the compiler ended before it could accept or reject the program.",
      },
      ...whyNot.filter(({ verdict }) => verdict !== "RE"),
    ],
  };
}

function timeUsed({ record: { metrics }, group }: Facts): string {
  if (metrics.wall_time_secs !== null && metrics.cpu_time_secs !== null)
    return `${secondsText(metrics.wall_time_secs)} of wall time, ${secondsText(metrics.cpu_time_secs)} of CPU time`;
  return `${secondsText((group?.cpu_usage_usec ?? 0) / 1e6)} of CPU time`;
}

function memoryUsed({ group }: Facts): string {
  if (!group) return "its memory use is unknown";
  return `its memory peak was ${bytesText(group.memory_peak_bytes)} of ${bytesText(group.memory_limit_bytes)}`;
}

function limitOfMemory({ group }: Facts): string {
  return group ? bytesText(group.memory_limit_bytes) : "this run";
}

function limitText({ runStats }: Facts, name: "wallMs" | "cpuMs"): string {
  const limit = runStats?.execute?.limits[name];
  return limit === undefined ? "" : ` (${secondsText(limit / 1000)})`;
}

function waited({ record: { metrics } }: Facts): string {
  const ratio = metrics.cpu_wall_ratio;
  if (metrics.divergence === "host_interference_suspected")
    return " It also waited for a CPU, so the machine may have been too busy: run it again.";
  if (ratio === null) return "";
  return ratio < 0.5
    ? " It spent most of that time waiting, for example asleep or for input that never came."
    : " It spent most of that time computing.";
}

function ending({ record: { result } }: Facts): string {
  if (result.signal !== null) return `was killed by signal ${signalText(result.signal)}`;
  return `ended with exit code ${result.exit_code}`;
}

function leftBehind({ record }: Facts): string {
  const left = record.evidence?.teardown.judge_actions?.some(({ action_type }) => action_type === "descendant_kill");
  return left ? " Processes that it had started and left behind were killed after it exited." : "";
}

/** Whether the program exceeded its CPU time limit only while it exited, so that it was not killed. */
const endedByItself = ({ record: { result, evidence } }: Facts): boolean =>
  result.actor === "judge" &&
  !evidence?.teardown.judge_actions?.some(({ action_type }) => action_type === "forced_kill");

function cpuEnd(facts: Facts): string {
  if (endedByItself(facts)) return "and exceeded it while they exited";
  return facts.record.result.actor === "kernel" ? "so the kernel killed the program" : "so the program was killed";
}

function cpuExit(facts: Facts): string {
  return endedByItself(facts)
    ? "The exit code does not matter once the CPU time limit is exceeded."
    : "The program did not exit before it was killed.";
}
