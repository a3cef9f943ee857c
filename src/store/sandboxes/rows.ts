import type { EgressRecord } from "../../domain/egress/egress-record.ts";
import { fromNetworkJson, hasNetwork, toNetworkJson, type VersionedPolicy } from "../../domain/egress/policy.ts";
import type { Execution, ExecutionKind, ExecutionStatus } from "../../domain/sandboxes/execution.ts";
import {
  diskOf,
  neededFeatures,
  type OnTimeout,
  SANDBOX_LIMITS,
  type Sandbox,
  type SandboxEndReason,
  type SandboxEvidence,
  type SandboxLimits,
  type SandboxState,
} from "../../domain/sandboxes/sandbox.ts";
import type { Row } from "../database/schema.ts";
import { fromOutcome, toOutcome } from "../submissions/rows.ts";

/** The columns of which a Sandbox is made. The others are of the store alone, and `kept` can be large. */
export const SANDBOX_COLUMNS = [
  "id",
  "account_id",
  "project_id",
  "key_id",
  "state",
  "created_at",
  "started_at",
  "ended_at",
  "end_reason",
  "lifetime_secs",
  "idle_secs",
  "limits",
  "metadata",
  "worker_id",
  "evidence",
  "from_snapshot",
  "on_timeout",
  "last_snapshot",
  "last_snapshot_error",
  "network",
  "network_version",
] as const satisfies readonly (keyof Row<"sandboxes">)[];

export type SandboxRow = Pick<Row<"sandboxes">, (typeof SANDBOX_COLUMNS)[number]>;

export function toSandbox(row: SandboxRow): Sandbox {
  return {
    id: row.id,
    accountId: row.account_id,
    projectId: row.project_id,
    keyId: row.key_id,
    state: row.state as SandboxState,
    createdAtMs: row.created_at,
    startedAtMs: row.started_at,
    endedAtMs: row.ended_at,
    endReason: row.end_reason as SandboxEndReason | null,
    lifetimeSecs: row.lifetime_secs,
    idleSecs: row.idle_secs,
    limits: toLimits(row),
    metadata: JSON.parse(row.metadata) as Record<string, string>,
    worker: row.worker_id,
    evidence: row.evidence === null ? null : (JSON.parse(row.evidence) as SandboxEvidence),
    from: row.from_snapshot,
    onTimeout: row.on_timeout as OnTimeout,
    network: toNetwork(row),
    lastSnapshotId: row.last_snapshot,
    lastSnapshotError: row.last_snapshot_error,
  };
}

/** Its policy; "none" for a sandbox without a network, whose column is null. */
export function toNetwork(row: Pick<Row<"sandboxes">, "network" | "network_version">): VersionedPolicy {
  const network = row.network === null ? "none" : fromNetworkJson(JSON.parse(row.network));
  return { version: row.network_version, network };
}

/** The columns of a network policy. */
export function fromNetwork(network: VersionedPolicy) {
  return {
    network: hasNetwork(network) ? JSON.stringify(toNetworkJson(network.network)) : null,
    network_version: network.version,
  };
}

export function toLimits({ limits }: Pick<Row<"sandboxes">, "limits">): SandboxLimits {
  // Sandboxes of earlier versions had no `cpus`, and one CPU for each execution, and no `storage`, and their files in memory.
  return { cpus: SANDBOX_LIMITS.cpus.default, storage: "memory", ...JSON.parse(limits) } as SandboxLimits;
}

export function fromSandbox(sandbox: Sandbox) {
  return {
    id: sandbox.id,
    account_id: sandbox.accountId,
    project_id: sandbox.projectId,
    key_id: sandbox.keyId,
    state: sandbox.state,
    created_at: sandbox.createdAtMs,
    started_at: sandbox.startedAtMs,
    ended_at: sandbox.endedAtMs,
    end_reason: sandbox.endReason,
    lifetime_secs: sandbox.lifetimeSecs,
    idle_secs: sandbox.idleSecs,
    memory_bytes: sandbox.limits.memoryBytes,
    disk_bytes: diskOf(sandbox.limits),
    needs: neededFeatures(sandbox),
    limits: JSON.stringify(sandbox.limits),
    metadata: JSON.stringify(sandbox.metadata),
    worker_id: sandbox.worker,
    evidence: sandbox.evidence === null ? null : JSON.stringify(sandbox.evidence),
    from_snapshot: sandbox.from,
    on_timeout: sandbox.onTimeout,
    ...fromNetwork(sandbox.network),
    last_snapshot: sandbox.lastSnapshotId,
    last_snapshot_error: sandbox.lastSnapshotError,
  };
}

/** The JSON in the column `request`. */
type StoredRequest = Pick<
  Execution,
  "argv" | "shell" | "truncated" | "language" | "cwd" | "background" | "hasTerminal"
>;

/** Also whether a client was told that the execution runs, and does not wait for its end. */
type StoredColumn = StoredRequest & { readonly isUnawaited?: true };

/**
 * Whether the end of an execution is a message for webhooks: no client waits for that of one in the background, nor for that of one of which a client has
 * been told that it still runs.
 */
export function isAnnounced({ request }: Pick<ExecutionRow, "request">): boolean {
  const { background, isUnawaited } = JSON.parse(request) as StoredColumn;
  return background || isUnawaited === true;
}

/** The column `request` of an execution for which no client waits any more. */
export function asUnawaited({ request }: Pick<ExecutionRow, "request">): string {
  return JSON.stringify({ ...(JSON.parse(request) as StoredColumn), isUnawaited: true } satisfies StoredColumn);
}

/** The columns of an execution when it begins, without `sandbox_seq`. */
export function fromExecution(execution: Execution) {
  const { argv, shell, truncated, language, cwd, background, hasTerminal } = execution;
  const request: StoredRequest = { argv, shell, truncated, language, cwd, background, hasTerminal };
  return {
    number: execution.number,
    key_id: execution.keyId,
    kind: execution.kind,
    request: JSON.stringify(request),
    status: execution.status,
    started_at: execution.startedAtMs,
  };
}

/** The columns that the end of an execution sets. */
export function endOfExecution({ status, outcome, completedAtMs, processesLeft, egress }: Execution) {
  if (!outcome) throw new Error("an execution ended without an outcome");
  const { compile_output: _, ...columns } = fromOutcome(outcome);
  const { verdict, cause } = outcome.result;
  return {
    status,
    verdict,
    cause,
    completed_at: completedAtMs,
    processes_left: processesLeft,
    egress: egress === null ? null : JSON.stringify(egress),
    ...columns,
  };
}

/** All columns of an execution but its output and its egress, of which programs can have written much. */
export const EXECUTION_COLUMNS = [
  "executions.number",
  "executions.key_id",
  "kind",
  "request",
  "status",
  "executions.started_at",
  "completed_at",
  "processes_left",
  "body",
] as const;

type ExecutionRow = Omit<Row<"executions">, "sandbox_seq" | "stdout" | "stderr" | "egress" | "verdict" | "cause"> &
  Partial<Pick<Row<"executions">, "stdout" | "stderr" | "egress">>;

/** @param row without its output and its egress, if these were not read. */
export function toExecution(
  sandbox: Pick<Row<"sandboxes">, "id" | "account_id" | "project_id">,
  row: ExecutionRow,
): Execution {
  const { stdout = null, stderr = null, egress = null, body } = row;
  const { isUnawaited: _, ...request } = JSON.parse(row.request) as StoredColumn;
  return {
    ...request,
    sandboxId: sandbox.id,
    accountId: sandbox.account_id,
    projectId: sandbox.project_id,
    keyId: row.key_id,
    number: row.number,
    kind: row.kind as ExecutionKind,
    status: row.status as ExecutionStatus,
    startedAtMs: row.started_at,
    completedAtMs: row.completed_at,
    outcome: body === null ? null : toOutcome({ body, stdout, stderr }),
    processesLeft: row.processes_left,
    egress: egress === null ? null : (JSON.parse(egress) as EgressRecord),
  };
}
