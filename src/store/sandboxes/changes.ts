import { type SelectQueryBuilder, sql, type Transaction } from "kysely";
import { internalError, type Outcome } from "../../domain/outcome.ts";
import { type Execution, restartedMessage } from "../../domain/sandboxes/execution.ts";
import { diskOf, type Sandbox } from "../../domain/sandboxes/sandbox.ts";
import { toExecutionRecord, toSandboxRecord } from "../../domain/sandboxes/sandbox-record.ts";
import { encodeUsage } from "../../domain/sandboxes/usage.ts";
import { isLive } from "../access/key-rows.ts";
import type { Abilities } from "../database/database.ts";
import type { StoreNotification } from "../database/notifier.ts";
import type { Row, Schema } from "../database/schema.ts";
import { insertDeliveries } from "../deliveries/outbox.ts";
import { whyBeyondBound } from "../egress/bounds.ts";
import { ENQUEUE_LOCK } from "../submissions/enqueue.ts";
import {
  asUnawaited,
  EXECUTION_COLUMNS,
  endOfExecution,
  type fromExecution,
  fromSandbox,
  isAnnounced,
  SANDBOX_COLUMNS,
  toExecution,
  toSandbox,
} from "./rows.ts";
import type {
  Created,
  EndedExecution,
  ExecutionBegun,
  NewSandboxRow,
  SandboxEnd,
  SandboxQuota,
  TakenOver,
  Takeover,
} from "./types.ts";

type Trx = Transaction<Schema>;

/** An execution that begins. */
export interface BegunExecution {
  readonly sandboxId: string;
  readonly accountId: string;
  readonly worker: string;
  /** A key that must still be valid, and whose account must not be suspended; null: nothing is checked. */
  readonly keyId: string | null;
  readonly columns: ReturnType<typeof fromExecution>;
}

/** The end of an execution, as plain data. */
export interface ExecutionEnd {
  readonly sandboxId: string;
  readonly number: number;
  readonly columns: ReturnType<typeof endOfExecution>;
  /** Numbers of other executions, which are deleted. */
  readonly drop: readonly number[];
}

/** The columns of a sandbox that an execution needs. */
const OWNER_COLUMNS = ["id", "account_id", "project_id"] as const;

/** The outcome of an execution whose sandbox was lost. */
const LOST = internalError("the sandbox ended while the execution ran, and what it did is not known");

/**
 * Adds a sandbox, or says why not. It reads the key, the account and its tier again, in the transaction that adds the row: what an account
 * may have holds for all processes together.
 */
export async function createSandbox(
  trx: Trx,
  { lock }: Pick<Abilities, "lock">,
  { sandbox, idempotency, leaseUntilMs, onlyKnown, service }: NewSandboxRow,
  nowMs: number,
): Promise<Created> {
  await lock(trx, ENQUEUE_LOCK);
  const { accountId, keyId } = sandbox;
  const owner = await trx
    .selectFrom("api_keys")
    .innerJoin("accounts", "accounts.id", "api_keys.account_id")
    .innerJoin("tiers", "tiers.name", "accounts.tier")
    .select(["revoked_at", "expires_at", "suspended_at", ...QUOTA_COLUMNS])
    .where("api_keys.id", "=", keyId)
    .executeTakeFirst();
  if (!owner || !isLive(owner, nowMs)) return { kind: "revoked" };
  if (owner.suspended_at !== null) return { kind: "suspended" };
  if (idempotency) {
    const known = await trx
      .selectFrom("sandboxes")
      .select([...SANDBOX_COLUMNS, "request_hash"])
      .where("account_id", "=", accountId)
      .where("idempotency_key", "=", idempotency.key)
      .executeTakeFirst();
    if (known?.request_hash === idempotency.requestHash) return { kind: "duplicate", sandbox: toSandbox(known) };
    if (known) return { kind: "conflict" };
  }
  if (onlyKnown) return { kind: "unknown" };
  const quota = toQuota(owner);
  const { amount, bytes, disk } = await trx
    .selectFrom("sandboxes")
    .select((eb) => [
      eb.fn.countAll<number | string>().as("amount"),
      eb.fn.coalesce(eb.fn.sum<number | string>("memory_bytes"), sql.lit(0)).as("bytes"),
      eb.fn.coalesce(eb.fn.sum<number | string>("disk_bytes"), sql.lit(0)).as("disk"),
    ])
    .where("account_id", "=", accountId)
    .where("ended_at", "is", null)
    .executeTakeFirstOrThrow();
  if (Number(amount) >= quota.sandboxes) return { kind: "quota", what: "sandboxes", most: quota.sandboxes };
  if (Number(bytes) + sandbox.limits.memoryBytes > quota.memoryBytes)
    return { kind: "quota", what: "memory", most: quota.memoryBytes };
  const added = diskOf(sandbox.limits);
  if (added > 0 && Number(disk) + added > quota.diskBytes)
    return { kind: "quota", what: "disks", most: quota.diskBytes };
  const reason = await whyBeyondBound(trx, sandbox, sandbox.network.network);
  if (reason !== null) return { kind: "network", reason };
  await trx
    .insertInto("sandboxes")
    .values({
      ...fromSandbox(sandbox),
      lease_until: leaseUntilMs,
      idempotency_key: idempotency?.key ?? null,
      request_hash: idempotency?.requestHash ?? null,
      service_id: service ?? null,
    })
    .execute();
  return { kind: "created", quota };
}

/** The columns of a tier of which a SandboxQuota is made. */
export const QUOTA_COLUMNS = ["tiers.sandboxes", "sandbox_memory_bytes", "sandbox_disk_bytes", "executions"] as const;

export function toQuota(
  tier: Pick<Row<"tiers">, "sandboxes" | "sandbox_memory_bytes" | "sandbox_disk_bytes" | "executions">,
): SandboxQuota {
  return {
    sandboxes: tier.sandboxes,
    memoryBytes: tier.sandbox_memory_bytes,
    diskBytes: tier.sandbox_disk_bytes,
    executions: tier.executions,
  };
}

export interface Ended<T> {
  readonly value: T;
  readonly notifications: readonly StoreNotification[];
}

/**
 * Ends sandboxes that have not ended, with executions that still run. @param which selects the rows, which are then locked in their order.
 * @returns the sandboxes as they are now.
 */
export async function endSandboxes(
  trx: Trx,
  seqs: readonly number[],
  { reason, endedAtMs, evidence, lastSnapshot, drop = [], usage = [], egress = null }: SandboxEnd,
): Promise<Ended<Sandbox[]>> {
  const ended: Sandbox[] = [];
  let isAnnounced = false;
  for (const seq of seqs.toSorted((a, b) => a - b)) {
    const row = await trx
      .updateTable("sandboxes")
      .set({
        state: "ended",
        end_reason: reason,
        ended_at: endedAtMs,
        kept: null,
        kept_until: null,
        ...(evidence && { evidence: JSON.stringify(evidence) }),
        ...(lastSnapshot &&
          ("id" in lastSnapshot ? { last_snapshot: lastSnapshot.id } : { last_snapshot_error: lastSnapshot.error })),
        // No client has got a sandbox that failed, so a later request with its idempotency key makes another one.
        ...(reason === "failed" && { idempotency_key: null, request_hash: null }),
      })
      .where("seq", "=", seq)
      .where("ended_at", "is", null)
      .returningAll()
      .executeTakeFirst();
    if (!row) continue;
    const sandbox = toSandbox(row);
    await dropExecutions(trx, seq, drop);
    if (usage.length > 0)
      await trx
        .insertInto("sandbox_usage")
        .values({ sandbox_seq: seq, samples: encodeUsage(usage) })
        .execute();
    if (egress !== null)
      await trx
        .insertInto("sandbox_egress")
        .values({ sandbox_seq: seq, body: JSON.stringify(egress) })
        .execute();
    isAnnounced = (await endRunning(trx, row, () => LOST, endedAtMs)) || isAnnounced;
    isAnnounced = (await announceSandbox(trx, sandbox, endedAtMs)) || isAnnounced;
    ended.push(sandbox);
  }
  const told = ended.map(({ id }) => ({ kind: "sandbox", id }) as const);
  return { value: ended, notifications: isAnnounced ? [{ kind: "deliveries" }, ...told] : told };
}

/** Ends the executions of a sandbox that still run. @returns whether a delivery was added. */
async function endRunning(
  trx: Trx,
  sandbox: Row<"sandboxes">,
  outcomeOf: (execution: Execution) => Outcome,
  nowMs: number,
): Promise<boolean> {
  let isAnnounced = false;
  const running = await trx
    .selectFrom("executions")
    .select(EXECUTION_COLUMNS)
    .where("sandbox_seq", "=", sandbox.seq)
    .where("completed_at", "is", null)
    .execute();
  for (const one of running) {
    const ran = toExecution(sandbox, one);
    const execution: Execution = { ...ran, status: "error", completedAtMs: nowMs, outcome: outcomeOf(ran) };
    isAnnounced = (await storeEnd(trx, sandbox.seq, executionEnd({ execution, drop: [] }))) || isAnnounced;
  }
  return isAnnounced;
}

/**
 * Gives a sandbox to another worker, if it still belongs to `from`: of several that try, one has it afterwards. Its executions that ran end as errors of the
 * platform, because nobody knows what they did; they are not repeated.
 */
export async function takeOverSandbox(
  trx: Trx,
  { id, from, to, leaseUntilMs }: Takeover,
  nowMs: number,
): Promise<Ended<TakenOver | null>> {
  const row = await trx
    .updateTable("sandboxes")
    .set({ worker_id: to, lease_until: leaseUntilMs, kept_until: null })
    .where("id", "=", id)
    .where("worker_id", "=", from)
    .where("ended_at", "is", null)
    .returningAll()
    .executeTakeFirst();
  if (!row) return { value: null, notifications: [] };
  const isAnnounced = await endRunning(trx, row, (one) => internalError(restartedMessage(one)), nowMs);
  const tier = await trx
    .selectFrom("accounts")
    .innerJoin("tiers", "tiers.name", "accounts.tier")
    .select(QUOTA_COLUMNS)
    .where("accounts.id", "=", row.account_id)
    .executeTakeFirstOrThrow();
  const executions = await trx
    .selectFrom("executions")
    .select([
      "number",
      // The names of hosts have only ASCII, so characters are bytes.
      sql<number>`coalesce(length(stdout), 0) + coalesce(length(stderr), 0) + coalesce(length(egress), 0) + length(request)`.as(
        "bytes",
      ),
    ])
    .where("sandbox_seq", "=", row.seq)
    .orderBy("completed_at")
    .orderBy("number")
    .execute();
  return {
    value: {
      sandbox: toSandbox(row),
      quota: toQuota(tier),
      leased: { up: row.leased_up, down: row.leased_down },
      executions: executions.map(({ number, bytes }) => ({ number, bytes: Number(bytes) })),
    },
    notifications: isAnnounced ? [{ kind: "deliveries" }, { kind: "sandbox", id }] : [{ kind: "sandbox", id }],
  };
}

/**
 * Adds executions, or says why not. How many an account may have holds for all processes together: they count one after the other. With
 * one writer, they do anyway.
 */
export async function beginExecutions(
  trx: Trx,
  { lock }: Pick<Abilities, "lock">,
  begun: readonly BegunExecution[],
  nowMs: number,
): Promise<ExecutionBegun[]> {
  const accounts = new Set(begun.map(({ accountId }) => accountId));
  // In order, so that two transactions with the same accounts do not wait for each other.
  for (const accountId of [...accounts].sort()) await lock(trx, `executions of ${accountId}`);
  const stored: ExecutionBegun[] = [];
  for (const one of begun) stored.push(await beginExecution(trx, one, nowMs));
  return stored;
}

/** Reads the sandbox, the account and the key again, in the transaction that adds the row: a revoked key starts nothing more. */
async function beginExecution(trx: Trx, one: BegunExecution, nowMs: number): Promise<ExecutionBegun> {
  const { sandboxId, accountId, worker, keyId, columns } = one;
  const row = await trx
    .selectFrom("sandboxes")
    .innerJoin("accounts", "accounts.id", "sandboxes.account_id")
    .innerJoin("tiers", "tiers.name", "accounts.tier")
    .leftJoin("api_keys", (join) =>
      join.on("api_keys.id", "=", keyId).onRef("api_keys.account_id", "=", "sandboxes.account_id"),
    )
    .select([
      "sandboxes.seq",
      "suspended_at",
      "api_keys.id as key_id",
      "revoked_at",
      "expires_at",
      "tiers.executions as most",
    ])
    .select((eb) =>
      eb
        .selectFrom("executions as others")
        .innerJoin("sandboxes as living", "living.seq", "others.sandbox_seq")
        .whereRef("living.account_id", "=", "sandboxes.account_id")
        .where("living.ended_at", "is", null)
        .where("others.completed_at", "is", null)
        .select((other) => other.fn.countAll<number | string>().as("amount"))
        .as("running"),
    )
    .where("sandboxes.id", "=", sandboxId)
    .where("sandboxes.account_id", "=", accountId)
    .where("worker_id", "=", worker)
    .where("sandboxes.ended_at", "is", null)
    .executeTakeFirst();
  if (!row) return "lost";
  if (keyId !== null && (row.key_id === null || !isLive(row, nowMs))) return "revoked";
  if (keyId !== null && row.suspended_at !== null) return "suspended";
  if (Number(row.running) >= row.most) return "full";
  await trx
    .insertInto("executions")
    .values({ sandbox_seq: row.seq, ...columns })
    .execute();
  return "begun";
}

/** Ends executions. Those that ended before, with their sandbox, stay as they are. */
export async function endExecutions(trx: Trx, ended: readonly ExecutionEnd[]): Promise<readonly StoreNotification[]> {
  let isAnnounced = false;
  for (const { sandboxId, drop, ...one } of ended) {
    const seq = trx.selectFrom("sandboxes").select("seq").where("id", "=", sandboxId);
    await dropExecutions(trx, seq, drop);
    isAnnounced = (await storeEnd(trx, seq, one)) || isAnnounced;
  }
  return isAnnounced ? [{ kind: "deliveries" }] : [];
}

/** The sequence number of a sandbox, or a query for it. */
type Seq = number | SelectQueryBuilder<Schema, "sandboxes", { seq: number }>;

async function dropExecutions(trx: Trx, seq: Seq, numbers: readonly number[]): Promise<void> {
  if (numbers.length === 0) return;
  await trx
    .deleteFrom("executions")
    .where("sandbox_seq", "=", seq)
    .where("number", "in", numbers)
    .where("completed_at", "is not", null)
    .execute();
}

/** @returns whether a delivery was added. */
async function storeEnd(
  trx: Trx,
  seq: Seq,
  { number, columns }: Pick<ExecutionEnd, "number" | "columns">,
): Promise<boolean> {
  const row = await trx
    .updateTable("executions")
    .set(columns)
    .where("sandbox_seq", "=", seq)
    .where("number", "=", number)
    .where("completed_at", "is", null)
    .returning("request")
    .executeTakeFirst();
  return row !== undefined && isAnnounced(row) && (await announceExecution(trx, seq, number));
}

/**
 * Notes that a client knows of an execution and does not wait for its end any more. That is then a message for webhooks, exactly once: if the execution has ended
 * in the meantime, the message is sent now.
 */
export async function releaseExecution(
  trx: Trx,
  { sandboxId, number }: Pick<Execution, "sandboxId" | "number">,
): Promise<readonly StoreNotification[]> {
  const seq = trx.selectFrom("sandboxes").select("seq").where("id", "=", sandboxId);
  const change = trx.updateTable("executions").where("sandbox_seq", "=", seq).where("number", "=", number);
  // It locks the row, so that an end that comes at the same time finds what this changes, or is found here.
  const row = await change
    .set((eb) => ({ started_at: eb.ref("started_at") }))
    .returning(["request", "completed_at"])
    .executeTakeFirst();
  if (!row || isAnnounced(row)) return [];
  await change.set({ request: asUnawaited(row) }).execute();
  return row.completed_at !== null && (await announceExecution(trx, seq, number)) ? [{ kind: "deliveries" }] : [];
}

/** What the end of an execution changes, as plain data, which is cheaper to pass to the thread of the database than the objects of an outcome. */
export function executionEnd({ execution, drop }: EndedExecution): ExecutionEnd {
  const { sandboxId, number } = execution;
  return { sandboxId, number, columns: endOfExecution(execution), drop };
}

/** Adds the message that an execution has ended. @returns whether there is an endpoint for it. */
async function announceExecution(trx: Trx, seq: Seq, number: number): Promise<boolean> {
  const sandbox = await trx
    .selectFrom("sandboxes")
    .select(OWNER_COLUMNS)
    .where("seq", "=", seq)
    .executeTakeFirstOrThrow();
  if (sandbox.project_id === null) return false;
  const row = await trx
    .selectFrom("executions")
    .select(EXECUTION_COLUMNS)
    .where("sandbox_seq", "=", seq)
    .where("number", "=", number)
    .executeTakeFirstOrThrow();
  if (row.completed_at === null) throw new Error("an execution that runs has no message");
  // Without output and egress, of which a server can have much: the record has them.
  const { output: _, egress: __, ...data } = toExecutionRecord(toExecution(sandbox, row));
  const id = `${sandbox.id}.${number}`;
  return await announce(trx, "execution.completed", id, sandbox.project_id, data, row.completed_at);
}

function announceSandbox(trx: Trx, sandbox: Sandbox, nowMs: number): Promise<boolean> {
  return announce(trx, "sandbox.ended", sandbox.id, sandbox.projectId, toSandboxRecord(sandbox), nowMs);
}

/** Adds a delivery to each endpoint of the project. Its body is stored, because the records of sandboxes do not live as long as deliveries. */
async function announce(
  trx: Trx,
  type: "sandbox.ended" | "execution.completed",
  id: string,
  projectId: string | null,
  data: unknown,
  nowMs: number,
): Promise<boolean> {
  if (projectId === null) return false;
  const body = Buffer.from(JSON.stringify({ type, timestamp: new Date(nowMs).toISOString(), data }), "utf8");
  return await insertDeliveries(trx, { id, project_id: projectId, body }, nowMs);
}
