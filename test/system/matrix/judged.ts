import assert from "node:assert/strict";
import type { Limits } from "../../../src/domain/limits.ts";
import { type CompletedRecord, checked } from "../../support/programs/record.ts";
import { PATIENCE } from "../../support/programs/timeouts.ts";
import type { Cell, Intervention } from "./cells.ts";

/** The time until a kill takes effect, also on a busy machine. */
const LATE_SECS = 2 * PATIENCE;
/** CPU time that a program can still use between its wall time limit and the kill. */
const LATE_CPU_USEC = 100_000 * PATIENCE;

/**
 * Checks every field of the record that the cell determines.
 * @param limits of the deciding step.
 * @throws if a field differs.
 */
export function assertJudged({ row, language, end }: Cell, raw: unknown, limits: Limits): CompletedRecord {
  const record = checked(raw);
  const { result, output, metrics, evidence } = record;
  const { cgroup, rlimits } = evidence.limits;
  const late = row.cause === "cpu_timeout" && starved(record, limits);
  const cause = late ? "wall_timeout" : row.cause;
  assert.deepEqual([result.verdict, result.cause, result.actor], [row.verdict, cause, row.actor]);
  assert.ok(end.split(" or ").includes(ended(record)), `ended with ${ended(record)}, not with ${end}`);
  assertActions(record, late ? "wall kill" : (row.interventions[language] ?? row.intervention));
  if (row.stdout !== undefined) assert.equal(output.stdout, row.stdout);

  assert.equal(cgroup.memory_limit_bytes, limits.memoryBytes);
  assert.equal(cgroup.process_limit, limits.processes);
  assert.equal(cgroup.process_count, 0);
  assert.ok((rlimits.nproc?.soft ?? 0) > limits.processes, "RLIMIT_NPROC would refuse forks before the group");
  if (metrics.wall_time_secs !== null) {
    assert.equal(metrics.memory_peak_bytes, cgroup.memory_peak_bytes);
    assert.equal(Math.round((metrics.cpu_time_secs ?? 0) * 1e6), cgroup.cpu_usage_usec);
  }
  if (row.waits) assert.ok((metrics.cpu_wall_ratio ?? 1) < 0.2, "the program did not only wait");
  COUNTERS[cause]?.(record, limits);
  return record;
}

/** `exit 7` or `signal 9`. */
export function ended({ result }: CompletedRecord): string {
  return result.signal === null ? `exit ${result.exit_code}` : `signal ${result.signal}`;
}

/**
 * A computing program ends at its CPU limit, unless the machine gave it less CPU time than that within its wall time.
 * Then the record must report host interference; nothing else permits the other cause.
 */
function starved({ result, metrics, evidence }: CompletedRecord, limits: Limits): boolean {
  return (
    result.cause === "wall_timeout" &&
    metrics.divergence === "host_interference_suspected" &&
    evidence.limits.cgroup.cpu_usage_usec < limits.cpuMs * 1e3 + LATE_CPU_USEC
  );
}

const DESCENDANTS = [
  "descendant_kill",
  /^SIGKILL to \d+ process(es)? still alive when the program had ended$/,
] as const;
const ACTIONS: Readonly<Record<Exclude<Intervention, "none">, readonly [type: string, details: RegExp]>> = {
  "wall kill": ["forced_kill", /^SIGKILL to every process of the box: wall time limit$/],
  "cpu kill": ["forced_kill", /^SIGKILL to every process of the box: CPU time limit$/],
  "oom kill": ["forced_kill", /^SIGKILL to every process of the box: the OOM killer had killed one of them$/],
  descendants: DESCENDANTS,
  "descendants, perhaps": DESCENDANTS,
};

function assertActions({ evidence }: CompletedRecord, intervention: Intervention): void {
  const actions = evidence.teardown.judge_actions;
  // On v2 the kernel kills the whole group. On v1 the program may end before the launcher notices the kill.
  const byTheKernel = intervention === "oom kill" && evidence.limits.cgroup_backend === "cgroup_v2";
  const mustBeNone = intervention === "none" || byTheKernel;
  const mayBeNone = intervention === "oom kill" || intervention === "descendants, perhaps";
  if (mustBeNone || (mayBeNone && actions === undefined)) {
    assert.equal(actions, undefined);
    return;
  }
  const [type, details] = ACTIONS[intervention as Exclude<Intervention, "none">];
  assert.equal(actions?.length, 1, JSON.stringify(actions));
  assert.equal(actions[0]?.action_type, type);
  assert.match(actions[0]?.details ?? "", details);
}

/** Checks of the kernel's counters and the message for each cause. */
const COUNTERS: Readonly<Record<string, (record: CompletedRecord, limits: Limits) => void>> = {
  normal_exit: ({ result }) => assert.equal(result.error_message, null),
  nonzero_exit: ({ result }) => assert.equal(result.error_message, `exited with code ${result.exit_code}`),
  compile_error({ result, output }) {
    assert.match(result.error_message ?? "", /^the program does not compile/);
    assert.equal(output.stdout, "");
    assert.notEqual(output.stderr, "");
  },
  wall_timeout({ metrics, evidence }, limits) {
    between(metrics.wall_time_secs, limits.wallMs / 1e3, limits.wallMs / 1e3 + LATE_SECS);
    assert.ok(evidence.limits.cgroup.cpu_usage_usec < limits.cpuMs * 1e3 + LATE_CPU_USEC);
  },
  cpu_timeout({ metrics, evidence }, limits) {
    between(evidence.limits.cgroup.cpu_usage_usec / 1e6, limits.cpuMs / 1e3, limits.cpuMs / 1e3 + LATE_SECS);
    assert.ok((metrics.wall_time_secs ?? 0) < limits.wallMs / 1e3 + LATE_SECS);
  },
  oom_kill({ evidence, result }, limits) {
    const { oom_events, oom_kill_events, memory_peak_bytes } = evidence.limits.cgroup;
    assert.ok(oom_events >= 1 && oom_kill_events >= 1);
    assert.ok(memory_peak_bytes > 0.98 * limits.memoryBytes, `the peak was ${memory_peak_bytes}`);
    assert.match(result.error_message ?? "", /killed by the kernel's OOM killer$/);
  },
  pids_limit({ result }, limits) {
    const message = `process limit of ${limits.processes} reached: the kernel refused to start another process or thread`;
    assert.equal(result.error_message, message);
  },
  file_size_limit({ result, evidence }, limits) {
    assert.equal(result.error_message, "file size limit exceeded");
    // The file's pages are charged to the box, so the peak proves that the file was written.
    assert.ok(evidence.limits.cgroup.memory_peak_bytes >= limits.fileBytes);
  },
  fatal_signal: ({ result }) =>
    assert.match(result.error_message ?? "", new RegExp(`^killed by signal ${result.signal} \\(SIG`)),
};

function between(value: number | null, low: number, high: number): void {
  assert.ok(value !== null && value >= low && value <= high, `${value} is not between ${low} and ${high}`);
}
