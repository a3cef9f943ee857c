import type { Outcome } from "../../../../src/domain/outcome.ts";
import { type SubmissionRecord, toRecord } from "../../../../src/domain/record.ts";
import type { StepReport, StepReports } from "../../../../src/domain/report.ts";
import type { Submission } from "../../../../src/domain/submission.ts";
import { buildOutcome } from "../../../../src/verdict/build-outcome.ts";
import { report, signalled } from "../../verdict/reports.ts";

export const START_MS = Date.UTC(2031, 0, 2);

/** A submission with this outcome that started 1.5 s and ended 2 s after it was accepted. */
export function ended(outcome: Outcome): Submission {
  return {
    id: "00000000-0000-4000-8000-000000000000",
    accountId: "a",
    keyId: "k",
    projectId: null,
    language: "c",
    profile: "judge",
    status: outcome.status,
    attempts: 1,
    createdAtMs: START_MS,
    startedAtMs: START_MS + 1_500,
    completedAtMs: START_MS + 2_000,
    outcome,
  };
}

export function recordOf(steps: StepReports): SubmissionRecord {
  return toRecord(ended(buildOutcome(steps)));
}

const SPENT = { cpu_secs: { soft: 4, hard: 5 } };

/** A step for each row of the verdict table, in order, named by its result. */
export const ENDS: Readonly<Record<string, StepReport>> = {
  "MLE oom_kill kernel": signalled(9, { oomKills: 1, memoryPeakBytes: 268_435_456 }),
  "PLE pids_limit kernel": report({ exitCode: 1, forksRefused: 3 }),
  "FSE file_size_limit kernel": signalled(25, { fsizeSignals: 1 }),
  "FSE file_size_limit kernel, without BPF": signalled(25, { signalSource: "none" }),
  "TLE wall_timeout judge": signalled(9, { killReason: "wall", wallNs: 5_000_000_000 }),
  "TLE cpu_timeout judge": signalled(9, { killReason: "cpu", cpuUsec: 2_000_000, wallNs: 2_100_000_000 }),
  "TLE cpu_timeout judge, in exit": report({ cpuUsec: 12_000_000 }),
  "TLE cpu_timeout kernel": report({ cpuRlimitSignals: 1, cpuUsec: 4_000_000 }),
  "TLE cpu_timeout kernel, at the rlimit": signalled(9, { cpuUsec: 6_000_000, rlimits: SPENT }),
  "SIG fatal_signal runtime": signalled(11),
  "RE nonzero_exit runtime": report({ exitCode: 3 }),
  "AC normal_exit runtime": report(),
};
