import { internalError, type Outcome, type RunVerdict } from "../../domain/outcome.ts";
import type { StepReports } from "../../domain/report.ts";
import { SANDBOX_END_REASONS, type SandboxEndReason } from "../../domain/sandboxes/sandbox.ts";
import { buildOutcome } from "../../verdict/build-outcome.ts";
import { judgeStep } from "../../verdict/judge.ts";
import type { BoxReport } from "./engine.ts";

const SIGKILL = 9;

/** `request`: a client asked to kill the execution. */
export type Killed = "request" | SandboxEndReason;

/** What the worker knows about the end of an execution besides the reports. */
export interface ExecutionFacts {
  /** Why the worker killed it: a client asked for that, or the sandbox ended. Null: it did not. */
  readonly killedFor: Killed | null;
  /** Whether the sandbox reached its own memory limit, and the kernel killed a process for that, while the execution ran. */
  readonly isSandboxOutOfMemory: boolean;
  readonly sandboxMemoryBytes: number;
  /** Whether the step before the program compiled. */
  readonly compiles: boolean;
}

/**
 * The outcome of an execution. The verdict table decides, as for submissions, with three additions: what the worker killed on purpose was
 * killed by a signal and not lost; a program that does not exist is the program's failure; and the memory limit of the sandbox is a memory
 * limit.
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
  const notStarted = execute && withoutProgram(execute);
  if (notStarted) return { ...internalError(""), status: "completed", result: notStarted, output: nothing() };
  const outcome = buildOutcome(reports);
  const result = resultOf(last, facts);
  if (!result || outcome.result.verdict !== "IE") return outcome;
  // The report is complete, so its output and its numbers are those of the execution.
  const seen = buildOutcome({ execute: { ...last, killReason: "none", oomKills: 0 } });
  if (seen.result.verdict === "IE") return outcome;
  return { ...seen, result, evidence: outcome.evidence };
}

/** The verdict on a report that the rules for submissions reject, because a submission has no such end. */
function resultOf(report: BoxReport, facts: ExecutionFacts): RunVerdict | null {
  const { killedFor } = facts;
  if (report.killReason === "client" && killedFor !== null) {
    const result = judgeStep({ ...report, killReason: "none", sentSignal: SIGKILL });
    if (killedFor === "request" || result.verdict !== "SIG") return result;
    return { ...result, errorMessage: `killed, because the sandbox ended: ${SANDBOX_END_REASONS[killedFor]}` };
  }
  if (report.oomKills > 0 && facts.isSandboxOutOfMemory) {
    return {
      verdict: "MLE",
      cause: "oom_kill",
      actor: "kernel",
      exitCode: report.exitCode,
      signal: report.signal,
      errorMessage: `memory limit of the sandbox (${facts.sandboxMemoryBytes} bytes, for all of its programs and files) exceeded: killed by the kernel's OOM killer`,
    };
  }
  return null;
}

/** The verdict on an execution whose program the kernel refused to start, or whose directory does not exist. */
function withoutProgram({ failure }: BoxReport): RunVerdict | null {
  if (failure?.step !== "exec" && failure?.step !== "cwd") return null;
  return {
    verdict: "RE",
    cause: "nonzero_exit",
    actor: "kernel",
    exitCode: null,
    signal: null,
    errorMessage:
      failure.step === "cwd"
        ? `the directory ${failure.object} cannot be entered`
        : `${failure.object} cannot be executed: there is no such program, or it is none`,
  };
}

function nothing(): Outcome["output"] {
  return { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0), integrity: "complete" };
}
