import { CAUSES, type CauseRow, type StepCause } from "../causes.ts";
import type { Outcome, RunStats } from "../outcome.ts";
import type { RunRecord } from "../record.ts";

/** How much of a limit the program used. */
export interface Usage {
  readonly name: "cpu" | "wall" | "memory" | "processes" | "stdout" | "stderr";
  readonly used: number;
  readonly limit: number;
  readonly unit: "ms" | "bytes" | "count";
  /** Whether the program reached the limit. */
  readonly met: boolean;
}

/**
 * How much the execute step used of its limits; empty if there was no execute step. Values that an old record does not have are absent.
 */
export function usage({ result, metrics, evidence }: RunRecord, runStats?: RunStats): Usage[] {
  if (!evidence || metrics.wall_time_secs === null || metrics.cpu_time_secs === null) return [];
  const { cgroup } = evidence.limits;
  const execute = runStats?.execute;
  const cpuMs = Math.round(metrics.cpu_time_secs * 1000);
  const wallMs = Math.round(metrics.wall_time_secs * 1000);
  const memory = { used: cgroup.memory_peak_bytes, limit: cgroup.memory_limit_bytes };
  const processes = { used: execute?.processesPeak ?? cgroup.process_count, limit: cgroup.process_limit };
  const always: Omit<Usage, "met">[] = [
    { name: "memory", ...memory, unit: "bytes" },
    { name: "processes", ...processes, unit: "count" },
  ];
  const noted: Omit<Usage, "met">[] = execute
    ? [
        { name: "cpu", used: cpuMs, limit: execute.limits.cpuMs, unit: "ms" },
        { name: "wall", used: wallMs, limit: execute.limits.wallMs, unit: "ms" },
        { name: "stdout", used: execute.stdoutBytes, limit: execute.limits.stdoutBytes, unit: "bytes" },
        { name: "stderr", used: execute.stderrBytes, limit: execute.limits.stderrBytes, unit: "bytes" },
      ]
    : [];
  const reached = (CAUSES[result.cause as StepCause] as CauseRow | undefined)?.usage;
  return [...always, ...noted].map((row) => ({ ...row, met: reached === row.name || row.used >= row.limit }));
}

/** Whether the end of the stream is missing. Also true if output was cut, but it is unknown of which stream. */
export function isCut(
  { output, runStats }: Pick<Outcome, "output" | "runStats">,
  stream: "stdout" | "stderr",
): boolean {
  const cut = cutStreams(output?.integrity ?? null, runStats);
  return cut === null || cut.includes(stream);
}

/** The streams whose output was cut; null if this is unknown, as for an old record. */
export function cutStreams(integrity: string | null, runStats?: RunStats): readonly ("stdout" | "stderr")[] | null {
  if (integrity !== "truncated_by_judge_limit") return [];
  if (!runStats) return null;
  const { execute } = runStats;
  if (!execute) return ["stderr"]; // the messages of the compiler, from both of its streams
  const { limits, stdoutBytes, stderrBytes, stdoutStoredBytes = limits.stdoutBytes } = execute;
  const cut = [
    ...(stdoutBytes > stdoutStoredBytes ? (["stdout"] as const) : []),
    ...(stderrBytes > limits.stderrBytes ? (["stderr"] as const) : []),
  ];
  return cut.length > 0 ? cut : null;
}
