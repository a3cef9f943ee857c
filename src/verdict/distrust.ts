import type { StepReport } from "../domain/report.ts";

/**
 * Row 1 of the decision table: reasons not to believe a report, which make the run an
 * internal error whatever else it says. A report that contradicts itself would otherwise
 * let the first matching row decide, and that row may be the wrong half of the contradiction.
 *
 * Leftovers after teardown (processes, mounts, groups) are deliberately not here. The facts
 * of the verdict were final before teardown began, so the leftovers say something about the
 * platform, not about the program: they are listed in the evidence, `cleanup_verified` is
 * false, and the slot is thrown away, but the verdict stands.
 */
const REASONS: readonly { readonly message: string; readonly when: (report: StepReport) => boolean }[] = [
  {
    message: "the sandbox could not be set up",
    when: (report) => report.failure !== undefined,
  },
  {
    message: "a control of the sandbox could not be verified",
    when: (report) => report.controlsMissing.length > 0,
  },
  {
    // A counter that could not be read is not zero.
    message: "the evidence could not be read completely",
    when: (report) => report.teardown.collectionErrors.length > 0,
  },
  {
    message: "the evidence contradicts itself: not exactly one of exit code and signal",
    when: (report) => (report.exitCode === null) === (report.signal === null),
  },
  {
    message: "the evidence contradicts itself: a number is out of its range",
    when: (report) => !numbersInRange(report),
  },
  {
    message: "the evidence contradicts itself: more output was kept than was seen",
    when: (report) => report.stdoutKept > report.stdoutSeen || report.stderrKept > report.stderrSeen,
  },
  {
    message: "the evidence contradicts itself: the captured output has another length than its count",
    when: (report) => report.stdout.length !== report.stdoutKept || report.stderr.length !== report.stderrKept,
  },
  {
    message: "the evidence contradicts itself: killed for memory, but no OOM kill was counted",
    when: (report) => report.killReason === "oom" && report.oomKills === 0,
  },
  {
    // The leaf counts every kill of its members. Its own limit was not met, so it was that of a group above, or the host.
    message: "the host ran out of memory, not the program",
    when: (report) =>
      report.oomKills > 0 &&
      report.memoryLimitHits === 0 &&
      report.memoryPeakBytes < report.memoryLimitBytes * 0.9 &&
      report.kernelBytes <= report.kernelLimitBytes,
  },
  {
    // A group that is out of memory says so before one of its processes is killed; the machine does not. Whether the limit
    // was met earlier in the run is no evidence then.
    message: "the host ran out of memory, not the program",
    when: (report) => report.oomKills > 0 && report.oomEvents === 0,
  },
  {
    // Before v2 of Linux 6.11 the leaf counts the refusals of every group above it, too.
    message: "the host refused a process, not the program's own limit",
    when: (report) => report.pidsRefused > 0 && report.pidsPeak !== null && report.pidsPeak < report.pidsLimit,
  },
  {
    message: "the evidence contradicts itself: kernel signals were counted without a source",
    when: (report) => report.signalSource === "none" && (report.fsizeSignals > 0 || report.cpuRlimitSignals > 0),
  },
  {
    // Abandoned by the service itself, so nothing about the program follows from its end.
    message: "the run was stopped by the service",
    when: (report) => report.killReason === "client",
  },
];

/** @returns why the report cannot be believed, fit for a client; null when it can. */
export function distrust(report: StepReport): string | null {
  return REASONS.find((reason) => reason.when(report))?.message ?? null;
}

function numbersInRange(report: StepReport): boolean {
  const counts = [
    report.wallNs,
    report.cpuUsec,
    report.memoryPeakBytes,
    report.memoryLimitBytes,
    report.keptBytes,
    report.kernelBytes,
    report.oomEvents,
    report.oomKills,
    report.pidsRefused,
    report.pidsCurrent,
    report.pidsLimit,
    report.fsizeSignals,
    report.cpuRlimitSignals,
    report.stdoutSeen,
    report.stderrSeen,
    report.survivors,
  ];
  return (
    counts.every((count) => Number.isFinite(count) && count >= 0) &&
    within(report.exitCode, 0, 255) &&
    within(report.signal, 1, 64)
  );
}

function within(value: number | null, low: number, high: number): boolean {
  return value === null || (Number.isInteger(value) && value >= low && value <= high);
}
