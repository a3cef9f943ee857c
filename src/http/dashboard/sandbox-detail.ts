import { hasNetwork, toNetworkJson } from "../../domain/egress/policy.ts";
import { explain } from "../../domain/explain/explanation.ts";
import { type Proof, proofs, proofsOf } from "../../domain/explain/proofs.ts";
import { cutStreams, usage } from "../../domain/explain/usage.ts";
import type { LongText } from "../../domain/json-pieces.ts";
import type { Execution } from "../../domain/sandboxes/execution.ts";
import { expiresAtMs, SANDBOX_END_REASONS, type Sandbox } from "../../domain/sandboxes/sandbox.ts";
import { SANDBOX_FACTS, toLongExecutionRecord, toSandboxRecord } from "../../domain/sandboxes/sandbox-record.ts";
import type { ExecutionPage } from "../../store/sandboxes/types.ts";
import type { FoundSandbox } from "../../store/search/types.ts";
import type {
  ExecutionDetail,
  ExecutionRow,
  ExecutionRun,
  Executions,
  SandboxDetail,
  SandboxRow,
} from "./api/sandboxes.ts";

/** The most characters of a command in a list. */
const SHOWN = 200;
/** A word that a shell reads as it is written. */
const PLAIN_WORD = /^[\w@%+=:,./-]+$/;

const timeOf = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

export function toSandboxRow({ sandbox, account, project, key }: FoundSandbox): SandboxRow {
  const { id, state, endReason, metadata, limits, createdAtMs, startedAtMs, endedAtMs } = sandbox;
  return {
    ...{ id, state, metadata, account, project, key },
    ended: endReason && SANDBOX_END_REASONS[endReason],
    memoryBytes: limits.memoryBytes,
    createdAt: new Date(createdAtMs).toISOString(),
    startedAt: timeOf(startedAtMs),
    expiresAt: timeOf(expiresAtMs(sandbox)),
    endedAt: timeOf(endedAtMs),
  };
}

/** @param now what changes while the sandbox lives. */
export function toSandboxDetail(found: FoundSandbox, now: Pick<SandboxDetail, "use" | "executions">): SandboxDetail {
  const { limits, lifetimeSecs, idleSecs, from, onTimeout, lastSnapshotId, lastSnapshotError, network } = found.sandbox;
  return {
    ...{ row: toSandboxRow(found), limits, lifetimeSecs, idleSecs, from, onTimeout, ...now },
    network: {
      hasNetwork: hasNetwork(network),
      version: network.version,
      policy: toNetworkJson(network.network),
    },
    lastSnapshot: { id: lastSnapshotId, error: lastSnapshotError },
    proofs: boxProofs(found.sandbox),
  };
}

/** What is known of the evidence: nothing until the box is ready, and nothing of the teardown until the end, or if the box was lost. */
function boxProofs(sandbox: Sandbox): Proof[] {
  if (!sandbox.evidence) return [];
  const { evidence } = toSandboxRecord(sandbox);
  const { teardown, ...controls } = SANDBOX_FACTS.evidence;
  return proofsOf(sandbox.evidence.teardown ? { ...controls, teardown } : controls, evidence);
}

export function toExecutions({ executions, next }: ExecutionPage): Executions {
  return { executions: executions.map(toExecutionRow), next: next === null ? null : String(next) };
}

export function toExecutionRow(execution: Execution): ExecutionRow {
  const { number, kind, background, hasTerminal, status, startedAtMs, completedAtMs, processesLeft } = execution;
  const { result, metrics } = toLongExecutionRecord(execution);
  const command = commandOf(execution);
  const msOf = (secs: number | null) => (secs === null ? null : Math.round(secs * 10_000) / 10);
  return {
    ...{ number, kind, background, hasTerminal, status, processesLeft },
    command: command.length > SHOWN ? `${command.slice(0, SHOWN).toWellFormed()}…` : command,
    verdict: result.verdict,
    cause: result.cause,
    startedAt: new Date(startedAtMs).toISOString(),
    completedAt: timeOf(completedAtMs),
    wallMs: msOf(metrics.wall_time_secs),
    cpuMs: msOf(metrics.cpu_time_secs),
    memoryBytes: metrics.memory_peak_bytes,
  };
}

/** An ExecutionDetail whose outputs are decoded while the response is written. */
export interface LongExecution extends Omit<ExecutionDetail, "run"> {
  readonly run:
    | (Omit<ExecutionRun, "stdout" | "stderr"> & { readonly [stream in "stdout" | "stderr"]: LongText | null })
    | null;
}

export function toExecutionDetail(execution: Execution, key: ExecutionDetail["key"]): LongExecution {
  const row = toExecutionRow(execution);
  return {
    row,
    command: commandOf(execution),
    cwd: execution.cwd,
    key,
    run: toRun(execution),
    egress: execution.egress,
  };
}

function toRun(execution: Execution): LongExecution["run"] {
  const { outcome, sandboxId, number } = execution;
  if (!outcome) return null;
  const { output, ...record } = toLongExecutionRecord(execution);
  const { result, evidence } = record;
  const status = record.status === "error" ? "error" : "completed";
  return {
    row: { id: `${sandboxId}.${number}`, status, verdict: result.verdict },
    record: { result },
    stdout: output.stdout,
    stderr: output.stderr,
    integrity: output.integrity,
    cut: cutStreams(output.integrity, outcome.runStats),
    explanation: explain(record, outcome.runStats),
    usage: usage(record, outcome.runStats),
    proofs: proofs(evidence),
  };
}

/** What was asked for, as a line for a shell. */
function commandOf({ argv, shell, language }: Execution): string {
  if (shell !== null) return shell;
  if (argv === null) return `code in ${language ?? "a language"}`;
  return argv.map((word) => (PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}
