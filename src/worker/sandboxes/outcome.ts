import { internalError, type Outcome, type RunVerdict } from "../../domain/outcome.ts";
import type { StepReport, StepReports } from "../../domain/report.ts";
import { SANDBOX_END_REASONS, type SandboxEndReason, type SandboxLimits } from "../../domain/sandboxes/sandbox.ts";
import { buildOutcome } from "../../verdict/build-outcome.ts";
import { judgeStep } from "../../verdict/judge.ts";
import type { BoxReport } from "./engine.ts";

const SIGKILL = 9;
const [ENOENT, EAGAIN, EBUSY, ECONNRESET] = [2, 11, 16, 104];

/** `request`: a client asked to kill the execution. */
export type Killed = "request" | SandboxEndReason;

/** What the worker knows about the end of an execution besides the reports. */
export interface ExecutionFacts {
  /** Why the worker killed it: a client asked for that, or the sandbox ended. Null: it did not. */
  readonly killedFor: Killed | null;
  /** Whether the sandbox reached its own memory limit, and the kernel killed a process for that, while the execution ran. */
  readonly isSandboxOutOfMemory: boolean;
  readonly sandboxLimits: SandboxLimits;
  /** Whether the step before the program compiled. */
  readonly compiles: boolean;
}

/**
 * The outcome of an execution. The verdict table decides, as for submissions, with additions for what a submission cannot bring about: what
 * the worker killed on purpose was killed by a signal and not lost; a program that could not be started because of what the sandbox has or
 * does is the client's failure; and the limits of the sandbox are limits. Whatever the programs of a sandbox can do to each other must not
 * end as an error of the platform.
 */
export function executionOutcome(
  { prepare, execute }: { readonly prepare?: BoxReport; readonly execute?: BoxReport },
  facts: ExecutionFacts,
): Outcome {
  const last = execute ?? prepare;
  if (!last) return internalError("the execution was lost before it ended");
  const reports: StepReports = {
    ...(prepare && facts.compiles && { compile: prepare }),
    ...(execute && { execute }),
    // Without a compiler, the first step only writes the code: if it fails, it is what ran.
    ...(!execute && !facts.compiles && { execute: last }),
  };
  const notStarted = withoutProgram(last, facts);
  if (notStarted) return { ...internalError(""), status: "completed", result: notStarted, output: nothing() };
  const outcome = buildOutcome(reports);
  if (outcome.result.verdict !== "IE") return outcome;
  const result = resultOf(last, facts);
  // The report is complete, so its output and its numbers are those of the execution.
  const seen = buildOutcome(
    result
      ? { execute: { ...withoutRefusals(last), killReason: "none", oomKills: 0 } }
      : mapped(reports, withoutRefusals),
  );
  if (seen.result.verdict === "IE") return outcome;
  return { ...seen, result: result ?? seen.result, evidence: outcome.evidence };
}

/** The verdict on a report that the rules for submissions reject, because a submission has no such end. */
function resultOf(report: BoxReport, facts: ExecutionFacts): RunVerdict | null {
  const { killedFor } = facts;
  if (report.killReason === "client" && killedFor !== null) {
    const result = judgeStep({ ...withoutRefusals(report), killReason: "none", sentSignal: SIGKILL });
    return result.verdict === "SIG" ? { ...result, errorMessage: killedMessage(killedFor) } : result;
  }
  if (report.oomKills > 0 && facts.isSandboxOutOfMemory) {
    return {
      verdict: "MLE",
      cause: "oom_kill",
      actor: "kernel",
      exitCode: report.exitCode,
      signal: report.signal,
      errorMessage: `memory limit of the sandbox (${facts.sandboxLimits.memoryBytes} bytes, for all of its programs and files) exceeded: killed by the kernel's OOM killer`,
    };
  }
  if (isRefusedBySandbox(report) && report.exitCode !== 0) {
    return {
      verdict: "PLE",
      cause: "pids_limit",
      actor: "kernel",
      exitCode: report.exitCode,
      signal: report.signal,
      errorMessage: processesMessage(facts.sandboxLimits, "the kernel refused to start another process or thread"),
    };
  }
  return null;
}

function killedMessage(killedFor: Killed): string {
  if (killedFor === "request") return "killed by signal 9 (SIGKILL), which the client sent";
  return `killed, because the sandbox ended: ${SANDBOX_END_REASONS[killedFor]}`;
}

function processesMessage({ processes }: SandboxLimits, what: string): string {
  return `process limit of the sandbox (${processes}, for all of its programs) reached: ${what}`;
}

/**
 * Whether the limit of the sandbox refused processes to an execution, because others had them. On v1, and on v2 before Linux 6.11, the cgroup
 * of the execution also counts refusals by the limits above it.
 */
function isRefusedBySandbox({ forksRefused, processPeak, processLimit }: StepReport): boolean {
  return forksRefused > 0 && processPeak !== null && processPeak < processLimit;
}

function withoutRefusals<Report extends StepReport>(report: Report): Report {
  return isRefusedBySandbox(report) ? { ...report, forksRefused: 0 } : report;
}

function mapped({ compile, execute }: StepReports, change: (report: StepReport) => StepReport): StepReports {
  return { ...(compile && { compile: change(compile) }), ...(execute && { execute: change(execute) }) };
}

/** Whether the step could not begin because the sandbox was paused. */
export function isFrozen({ failure }: BoxReport): boolean {
  return failure?.step === "sandbox" && failure.errno === EBUSY;
}

function killedResult(killedFor: Killed): RunVerdict {
  return {
    verdict: "SIG",
    cause: "fatal_signal",
    actor: "judge",
    exitCode: null,
    signal: SIGKILL,
    errorMessage: killedMessage(killedFor),
  };
}

/** The outcome of an execution that was killed, and of whose end there is no report. */
export function killedOutcome(
  killedFor: Killed | null,
  { stdout, stderr }: Readonly<Record<"stdout" | "stderr", { readonly bytes: Buffer; readonly seen: number }>>,
): Outcome {
  const isCut = stdout.seen > stdout.bytes.length || stderr.seen > stderr.bytes.length;
  return {
    ...internalError(""),
    status: "completed",
    result: killedResult(killedFor ?? "request"),
    output: {
      stdout: stdout.bytes,
      stderr: stderr.bytes,
      integrity: isCut ? "truncated_by_judge_limit" : "crash_mid_write",
    },
  };
}

/** The verdict on an execution that could not start because of what its sandbox has or does: no such program, directory, terminal or process. */
function withoutProgram({ failure }: BoxReport, { sandboxLimits, killedFor }: ExecutionFacts): RunVerdict | null {
  if (!failure || killedFor === "worker_lost") return null;
  if (killedFor) return killedResult(killedFor);
  const { step, object, errno } = failure;
  const ended = { actor: "kernel", exitCode: null, signal: null } as const;
  const refused = (errorMessage: string): RunVerdict => ({
    ...ended,
    verdict: "RE",
    cause: "nonzero_exit",
    errorMessage,
  });
  if (step === "cwd") return refused(`the directory ${object} cannot be entered`);
  if (step === "exec") return refused(`${object} cannot be executed: there is no such program, or it is none`);
  if (step === "terminal")
    return refused(
      "no terminal is left: the programs of the sandbox have opened all of its own, or the machine has no more",
    );
  // A sandbox that is gone although nobody has ended it was lost by the platform.
  if (step !== "sandbox" || errno === ENOENT || errno === ECONNRESET) return null;
  if (errno !== EAGAIN)
    return refused(
      `the sandbox did not let the program start (${object}): it was paused, or another program of it interfered`,
    );
  return {
    ...ended,
    verdict: "PLE",
    cause: "pids_limit",
    errorMessage: processesMessage(sandboxLimits, `the program was not started (${object})`),
  };
}

function nothing(): Outcome["output"] {
  return { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0), integrity: "complete" };
}
