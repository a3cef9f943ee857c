import type { Course } from "../outcome.ts";
import type { RecordWithoutOutput } from "../record.ts";

/** What the program used of what it may. */
export interface Usage {
  readonly name: "cpu" | "wall" | "memory" | "processes" | "stdout" | "stderr";
  readonly used: number;
  readonly limit: number;
  readonly unit: "ms" | "bytes" | "count";
  /** This is what ended it. */
  readonly met: boolean;
}

/** Which limit a cause is about. Output beyond its limit is thrown away and ends nothing. */
const ENDED_BY: Readonly<Record<string, Usage["name"]>> = {
  cpu_timeout: "cpu",
  wall_timeout: "wall",
  oom_kill: "memory",
  pids_limit: "processes",
};

/** Of the execute step; empty where there was none. What is not known of an old record is absent. */
export function usage({ result, metrics, evidence }: RecordWithoutOutput, course?: Course): Usage[] {
  if (!evidence || metrics.wall_time_secs === null || metrics.cpu_time_secs === null) return [];
  const { cgroup } = evidence.limits;
  const execute = course?.execute;
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
  return [...always, ...noted].map((row) => ({ ...row, met: ENDED_BY[result.cause ?? ""] === row.name }));
}
