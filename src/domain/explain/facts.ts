import type { RunStats } from "../outcome.ts";
import type { RunRecord } from "../record.ts";
import { signalText } from "./signals.ts";
import { bytesText, secondsText } from "./units.ts";

/** An explanation of a verdict, for a reader who does not know it. */
export interface Explanation {
  readonly title: string;
  readonly text: string;
  /** Why similar verdicts do not apply: "Why not RE?" */
  readonly whyNot: readonly { readonly verdict: string; readonly text: string }[];
}

/** What an explanation can say. */
export interface ExplainedRun {
  readonly record: RunRecord;
  readonly runStats: RunStats | undefined;
  /** The limits and counters of the cgroup of the step that decided the verdict; undefined without evidence. */
  readonly group: NonNullable<RunRecord["evidence"]>["limits"]["cgroup"] | undefined;
}

/* Parts of sentences that several explanations share. */

export function timeUsed({ record: { metrics }, group }: ExplainedRun): string {
  if (metrics.wall_time_secs !== null && metrics.cpu_time_secs !== null)
    return `${secondsText(metrics.wall_time_secs)} of wall time, ${secondsText(metrics.cpu_time_secs)} of CPU time`;
  return `${secondsText((group?.cpu_usage_usec ?? 0) / 1e6)} of CPU time`;
}

export function memoryUsed({ group }: ExplainedRun): string {
  if (!group) return "its memory use is unknown";
  return `its memory peak was ${bytesText(group.memory_peak_bytes)} of ${bytesText(group.memory_limit_bytes)}`;
}

export function limitOfMemory({ group }: ExplainedRun): string {
  return group ? bytesText(group.memory_limit_bytes) : "this run";
}

export function limitText({ runStats }: ExplainedRun, name: "wallMs" | "cpuMs"): string {
  const limit = runStats?.execute?.limits[name];
  return limit === undefined ? "" : ` (${secondsText(limit / 1000)})`;
}

export function waited({ record: { metrics } }: ExplainedRun): string {
  const ratio = metrics.cpu_wall_ratio;
  if (metrics.divergence === "host_interference_suspected")
    return " It also waited for a CPU, so the machine may have been too busy: run it again.";
  if (ratio === null) return "";
  return ratio < 0.5
    ? " It spent most of that time waiting, for example asleep or for input that never came."
    : " It spent most of that time computing.";
}

export function ending({ record: { result } }: ExplainedRun): string {
  if (result.signal !== null) return `was killed by signal ${signalText(result.signal)}`;
  return `ended with exit code ${result.exit_code}`;
}

export function leftBehind({ record }: ExplainedRun): string {
  const left = record.evidence?.teardown.judge_actions?.some(({ action_type }) => action_type === "descendant_kill");
  return left ? " Processes that it had started and left behind were killed after it exited." : "";
}

/** Whether the program exceeded its CPU time limit only while it exited, so that it was not killed. */
const endedByItself = ({ record: { result, evidence } }: ExplainedRun): boolean =>
  result.actor === "judge" &&
  !evidence?.teardown.judge_actions?.some(({ action_type }) => action_type === "forced_kill");

export function cpuEnd(facts: ExplainedRun): string {
  if (endedByItself(facts)) return "and exceeded it while they exited";
  return facts.record.result.actor === "kernel" ? "so the kernel killed the program" : "so the program was killed";
}

export function cpuExit(facts: ExplainedRun): string {
  return endedByItself(facts)
    ? "The exit code does not matter once the CPU time limit is exceeded."
    : "The program did not exit before it was killed.";
}
