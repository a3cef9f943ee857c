import type { StepReport } from "../domain/report.ts";
import { missingControls } from "./controls.ts";

/**
 * Reasons to reject a report, which precede the rows of the verdict table. They make the run an internal error, whatever else the report
 * says. Without them, a row could match one half of a contradictory report, possibly the wrong half.
 *
 * Leftovers after teardown (processes, mounts, cgroups) are deliberately not in this list. The facts for the verdict are final before
 * teardown begins, so leftovers concern the platform, not the program: the evidence lists them, `cleanup_verified` is false, and the slot
 * is discarded, but the verdict stands.
 */
const REASONS: readonly { readonly message: string; readonly when: (report: StepReport) => boolean }[] = [
  {
    message: "the sandbox could not be set up",
    when: (report) => report.failure !== undefined,
  },
  {
    message: "a control of the sandbox could not be verified",
    when: (report) => missingControls(report).length > 0,
  },
  {
    // An unreadable counter must not count as zero.
    message: "the evidence could not be read completely",
    when: (report) => report.teardown.unreadFacts.length > 0,
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
    // The cgroup of the box counts every kill of its processes. Here its own limit was not reached, so a cgroup above it, or the host,
    // was out of memory.
    message: "the host ran out of memory, not the program",
    when: (report) =>
      report.oomKills > 0 &&
      report.memoryLimitHits === 0 &&
      report.memoryPeakBytes < report.memoryLimitBytes * 0.9 &&
      report.kernelBytes <= report.kernelLimitBytes &&
      report.walkableBytes <= report.walkableLimitBytes,
  },
  {
    // A cgroup that is at its limit counts an OOM event before a kill. A kill because the host is out of memory has no such event, even
    // if the cgroup was at its limit before.
    message: "the host ran out of memory, not the program",
    when: (report) => report.oomKills > 0 && report.oomEvents === 0,
  },
  {
    // On v1, and on v2 before Linux 6.11, the cgroup of the box also counts refusals that are due to the limits of cgroups above it.
    message: "the host refused a process, not the program's own limit",
    when: (report) =>
      report.forksRefused > 0 && report.processPeak !== null && report.processPeak < report.processLimit,
  },
  {
    message: "the evidence contradicts itself: kernel signals were counted without a source",
    when: (report) => report.signalSource === "none" && (report.fsizeSignals > 0 || report.cpuRlimitSignals > 0),
  },
  {
    // The service itself stopped the run, so its end proves nothing about the program.
    message: "the run was stopped by the service",
    when: (report) => report.killReason === "client",
  },
];

/** @returns the reason to reject the report, suitable for clients; null for a valid report. */
export function validateReport(report: StepReport): string | null {
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
    report.forksRefused,
    report.processCount,
    report.processLimit,
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
