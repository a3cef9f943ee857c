import { type Cause, type Course, LIMIT_CAUSES, type LimitCause } from "../outcome.ts";
import type { RecordWithoutOutput } from "../record.ts";
import { meaningOf, signalText } from "./signals.ts";
import { bytesText, countText, secondsText } from "./units.ts";

/** A verdict in words for somebody who is new to it. */
export interface Explanation {
  readonly title: string;
  readonly text: string;
  /** Why it was not one that lies near: "Why not RE?" */
  readonly whyNot: readonly { readonly verdict: string; readonly text: string }[];
}

/** What the words are made of. */
interface Facts {
  readonly record: RecordWithoutOutput;
  readonly course: Course | undefined;
  /** Of the step that ended it; undefined where no evidence came back. */
  readonly group: NonNullable<RecordWithoutOutput["evidence"]>["limits"]["cgroup"] | undefined;
}

/** @returns null until it has ended. */
export function explain(record: RecordWithoutOutput, course?: Course): Explanation | null {
  const cause = record.result.cause as Cause | null;
  if (cause === null) return null;
  const facts: Facts = { record, course, group: record.evidence?.limits.cgroup };
  const limit = limitOfCompiler(cause);
  return limit ? ofCompiler(EXPLAINED[limit](facts)) : EXPLAINED[cause as keyof typeof EXPLAINED](facts);
}

const EXPLAINED: Readonly<
  Record<LimitCause | Exclude<Cause, LimitCause | `compile_${string}`> | "compile_error", (facts: Facts) => Explanation>
> = {
  normal_exit: (facts) => ({
    title: "Accepted: it ran to its end",
    text: `The program ended by itself with exit code 0, which says that all went well. No limit and no signal ended it. Whether what it printed is the right answer is for you to judge: Assay does not know the question.${leftBehind(facts)}`,
    whyNot: [
      { verdict: "RE", text: "RE is for a program that ends by itself with any other exit code than 0." },
      { verdict: "TLE", text: `It was done in time: ${timeUsed(facts)}.` },
      { verdict: "MLE", text: `It stayed within its memory: ${memoryUsed(facts)}.` },
    ],
  }),
  nonzero_exit: (facts) => ({
    title: "Runtime error: it ended by itself and said that it failed",
    text: `The program ended by itself with exit code ${facts.record.result.exit_code}. Any code but 0 says that something went wrong: an exception that nobody caught, or an error that the program noticed. What it had to say of it is usually at the end of its standard error.`,
    whyNot: [
      {
        verdict: "MLE",
        text: `The kernel killed nothing of it for memory: its counter of such kills stands at ${facts.group?.oom_kill_events ?? 0}, and ${memoryUsed(facts)}. A program that is refused memory and gives up by itself (MemoryError, bad_alloc) is RE.`,
      },
      { verdict: "SIG", text: "No signal killed it: then it would have no exit code." },
      { verdict: "TLE", text: `It ended before its time was over: ${timeUsed(facts)}.` },
    ],
  }),
  fatal_signal: ({ record, group }) => ({
    title: `Killed by signal ${signalText(record.result.signal ?? 0)}`,
    text: `The program did not end by itself: a signal killed it. With this one that usually means that ${meaningOf(record.result.signal ?? 0)}. No limit was met, so it is the program's own doing.`,
    whyNot: [
      {
        verdict: "RE",
        text: "RE is for a program that ends by itself. This one was killed before it could say how it went.",
      },
      {
        verdict: "MLE",
        text: `For MLE the kernel's OOM killer must have killed something of it; its counter stands at ${group?.oom_kill_events ?? 0}. No program can make it count.`,
      },
      { verdict: "TLE", text: "Our timers note that they are about to kill before they do. They had noted nothing." },
    ],
  }),
  compile_error: ({ record }) => ({
    title: "It does not compile",
    text: `The compile step failed, so the program was never run: ${record.result.error_message ?? "the compiler refused it"}. What the compiler said is in the standard error.`,
    whyNot: [
      { verdict: "SIG", text: "A compiler that crashes on a program counts as one that refuses it, too." },
      { verdict: "TLE", text: "The compiler ended by itself, within its own limits of time and memory." },
    ],
  }),
  oom_kill: (facts) => ({
    title: "Memory limit exceeded",
    text: `All processes of the program together, and the files that they had written, needed more memory than the ${limitOfMemory(facts)} that they may have. The kernel's OOM killer ended it: in this box, which had been made for this run alone, it has counted ${countText(facts.group?.oom_kill_events ?? 0, "kill")}.`,
    whyNot: [
      {
        verdict: "RE",
        text:
          facts.record.result.exit_code === null
            ? "It did not end by itself, so it has no exit code. Had it noticed that there is no more memory and given up by itself, it would be RE."
            : `There is an exit code, ${facts.record.result.exit_code}: that of a process that was left when the kernel had killed another one. What follows a kill is its consequence.`,
      },
      {
        verdict: "SIG",
        text: "The OOM killer kills with signal 9 (SIGKILL), and so can a program itself. The difference is the kernel's counter, which no program can move.",
      },
      { verdict: "TLE", text: "The kill came first. Whatever would have happened later did not." },
    ],
  }),
  wall_timeout: (facts) => ({
    title: "Time limit exceeded: by the clock on the wall",
    text: `The program had not ended when its time by the clock was over${limitText(facts, "wallMs")}, so it was killed: ${timeUsed(facts)}.${waited(facts)}`,
    whyNot: [
      { verdict: "RE", text: "It did not end by itself. How it would have ended, nobody knows." },
      { verdict: "SIG", text: "The signal that killed it was ours: the timer had noted the reason before it sent it." },
      { verdict: "MLE", text: `It was not killed for memory: ${memoryUsed(facts)}.` },
    ],
  }),
  cpu_timeout: (facts) => ({
    title: "Time limit exceeded: CPU time",
    text: `The processes of the program together had computed for as long as they may${limitText(facts, "cpuMs")}, ${cpuEnd(facts)}: ${timeUsed(facts)}. Time in which it waits does not count here, and several threads that compute at once count each.`,
    whyNot: [
      { verdict: "RE", text: cpuExit(facts) },
      {
        verdict: "SIG",
        text: "A signal alone would be SIG. Here the kernel's count of CPU time shows that the time was really spent.",
      },
      { verdict: "MLE", text: `It was not killed for memory: ${memoryUsed(facts)}.` },
    ],
  }),
  pids_limit: (facts) => ({
    title: "Process limit exceeded",
    text: `The program wanted more processes and threads at a time than the ${facts.group?.process_limit ?? "number"} that it may have. The kernel refused to start another one and counted that; the program did not cope with it and ${ending(facts)}.`,
    whyNot: [
      {
        verdict: "RE",
        text: "A failure of the program would be RE. This one came after the kernel had refused it a process.",
      },
      { verdict: "AC", text: "A program that copes with the refusal and ends with exit code 0 is accepted." },
      {
        verdict: "TLE",
        text: "A program that starts processes without end is stopped by a timer in the end. Why it could not go on is the limit before that.",
      },
    ],
  }),
  file_size_limit: (facts) => ({
    title: "File size limit exceeded",
    text: `The program wrote to a file beyond the largest size that a single file may have. The kernel refused that and sent it the signal 25 (SIGXFSZ); the program did not cope with it and ${ending(facts)}.`,
    whyNot: [
      {
        verdict: "RE",
        text: "Many runtimes ignore the signal and tell the program of an error in writing, with which it then fails. The kernel's own count of the signal says why.",
      },
      {
        verdict: "SIG",
        text: "A program can send itself that signal; then it is SIG. What the kernel sends is counted apart.",
      },
      { verdict: "MLE", text: `Files count as memory, too, but that was enough: ${memoryUsed(facts)}.` },
    ],
  }),
  internal_error: ({ record }) => ({
    title: "The platform failed, not your program",
    text: `The run cannot be judged: ${record.result.error_message ?? "no reason is known"}. A verdict that is not proven is worse than none, so there is none, and no output. A judge run is tried three times before that is said; an agent run once, because it may have had effects.`,
    whyNot: [
      {
        verdict: "RE",
        text: "Whatever a program does wrong is never IE. This says nothing about the program: run it again.",
      },
      { verdict: "AC", text: "It may have done all that it should. There is no evidence that can be believed." },
    ],
  }),
};

function limitOfCompiler(cause: Cause): LimitCause | undefined {
  return LIMIT_CAUSES.find((limit) => cause === `compile_${limit}`);
}

/** The same limits hold a compiler, and the same verdicts are given when it meets them. */
function ofCompiler({ title, text, whyNot }: Explanation): Explanation {
  return {
    title: `${title}, by the compiler`,
    text: `It is the compiler that met a limit; your program was never run. ${text.replaceAll("The program ", "The compiler ").replaceAll("the program ", "the compiler ")}`,
    whyNot: [
      {
        verdict: "RE",
        text: "A program that the compiler refuses is RE. Here the compiler got no answer ready, so nobody knows whether it would.",
      },
      ...whyNot.filter(({ verdict }) => verdict !== "RE"),
    ],
  };
}

function timeUsed({ record: { metrics }, group }: Facts): string {
  if (metrics.wall_time_secs !== null && metrics.cpu_time_secs !== null)
    return `${secondsText(metrics.wall_time_secs)} by the clock, ${secondsText(metrics.cpu_time_secs)} of CPU time`;
  return `${secondsText((group?.cpu_usage_usec ?? 0) / 1e6)} of CPU time`;
}

function memoryUsed({ group }: Facts): string {
  if (!group) return "nothing is known of its memory";
  return `at most ${bytesText(group.memory_peak_bytes)} of ${bytesText(group.memory_limit_bytes)} were in use`;
}

function limitOfMemory({ group }: Facts): string {
  return group ? bytesText(group.memory_limit_bytes) : "memory";
}

function limitText({ course }: Facts, name: "wallMs" | "cpuMs"): string {
  const limit = course?.execute?.limits[name];
  return limit === undefined ? "" : ` (${secondsText(limit / 1000)})`;
}

/** Who did not compute most of the time waited for something. */
function waited({ record: { metrics } }: Facts): string {
  const ratio = metrics.cpu_wall_ratio;
  if (metrics.divergence === "host_interference_suspected")
    return " It also waited for the processor, so the machine may have been too busy; run it again.";
  if (ratio === null) return "";
  return ratio < 0.5
    ? " Most of that time it did not compute but wait: it slept, or read input that never came."
    : " Most of that time it computed.";
}

function ending({ record: { result } }: Facts): string {
  if (result.signal !== null) return `was killed by signal ${signalText(result.signal)}`;
  return `ended with exit code ${result.exit_code}`;
}

function leftBehind({ record }: Facts): string {
  const left = record.evidence?.teardown.judge_actions?.some(({ action_type }) => action_type === "descendant_kill");
  return left ? " Processes that it had started and left behind were killed when it had ended." : "";
}

/** Nothing ended a program whose end itself took more time than there was left. */
const endedByItself = ({ record: { result, evidence } }: Facts): boolean =>
  result.actor === "judge" &&
  !evidence?.teardown.judge_actions?.some(({ action_type }) => action_type === "forced_kill");

function cpuEnd(facts: Facts): string {
  if (endedByItself(facts)) return "and at the end of the last of them it was more of it than it may";
  return facts.record.result.actor === "kernel" ? "so the kernel ended it" : "so it was killed";
}

function cpuExit(facts: Facts): string {
  return endedByItself(facts)
    ? "Its exit code does not count: time that is spent cannot be given back."
    : "It did not end by itself. How it would have ended is not known.";
}
