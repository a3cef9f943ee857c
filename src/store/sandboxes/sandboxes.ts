import { type Kysely, sql, type Transaction } from "kysely";
import type { Execution } from "../../domain/sandboxes/execution.ts";
import type { Sandbox } from "../../domain/sandboxes/sandbox.ts";
import { decodeUsage, type UsageSample } from "../../domain/sandboxes/usage.ts";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import type { AddToGroup, Transactions } from "../database/transactions.ts";
import { OPERATIONS } from "../operations.ts";
import type { ReserveMemory } from "../submissions/types.ts";
import {
  type BegunExecution,
  createSandbox,
  type ExecutionEnd,
  endSandboxes,
  executionEnd,
  takeOverSandbox,
  toQuota,
} from "./changes.ts";
import { EXECUTION_COLUMNS, fromExecution, toExecution, toSandbox } from "./rows.ts";
import type {
  BeginOptions,
  Created,
  EndedExecution,
  ExecutionBegun,
  ExecutionPage,
  LeftSandbox,
  NewSandboxRow,
  RenewedSandbox,
  SandboxEnd,
  SandboxList,
  SandboxPage,
  SandboxUpdate,
  TakenOver,
  Takeover,
} from "./types.ts";

export type SandboxStore = ReturnType<typeof sandboxStore>;

/** The most rows that one list reads. A list that filters can find few of them. */
const MAX_READ = 500;
/** The most sandboxes that one transaction ends, and the most executions that a purge deletes with their outputs. */
const ENDED_AT_ONCE = 16;
/** The highest number of an execution: that of the column's type. */
const MAX_NUMBER = 2_147_483_647;

/**
 * Sandboxes and their executions. Every change of a sandbox names the worker that has it, and does nothing if another one has it or it has
 * ended. A worker renews the lease of its sandboxes; those of a worker that no longer does so are ended by `sweep`.
 * @param now milliseconds since the epoch.
 */
export function sandboxStore({ db, abilities }: Database, transactions: Transactions, now: () => number) {
  const [begin, beginUnflushed] = [false, true].map((isUnflushed) =>
    transactions.group({
      operation: OPERATIONS.beginExecutions,
      asked: (begun: readonly BegunExecution[]) => ({ begun, nowMs: now() }),
      answers: (stored) => stored,
      isUnflushed,
    }),
  ) as [AddToGroup<BegunExecution, ExecutionBegun>, AddToGroup<BegunExecution, ExecutionBegun>];
  const end = transactions.group({
    operation: OPERATIONS.endExecutions,
    asked: (ended: readonly ExecutionEnd[]) => ({ ended }),
    answers: () => [],
    notifications: (notifications) => notifications,
  });
  return {
    /**
     * Stores a sandbox. Only the next update of it waits for the disk, because nobody hears of it before it runs, unless another process
     * answers a repeated request.
     */
    create(created: NewSandboxRow): Promise<Created> {
      const work = (trx: Transaction<Schema>) => createSandbox(trx, abilities, created, now());
      const isHeardOf = created.idempotency !== null && !abilities.oneWriter;
      return isHeardOf ? transactions.run(work) : transactions.runUnflushed(work);
    },

    /**
     * @param isFlushed whether the update must survive a power failure. What only matters while the sandbox lives need not, because no
     * sandbox survives one.
     * @returns the sandbox as it is now; null if it has ended, or another worker has it.
     */
    update(id: string, worker: string, update: SandboxUpdate, isFlushed = true): Promise<Sandbox | null> {
      const { state, startedAtMs, evidence, lifetimeSecs, idleSecs, metadata, kept } = update;
      const columns = {
        ...(state !== undefined && { state }),
        ...(startedAtMs !== undefined && { started_at: startedAtMs }),
        ...(evidence !== undefined && { evidence: JSON.stringify(evidence) }),
        ...(lifetimeSecs !== undefined && { lifetime_secs: lifetimeSecs }),
        ...(idleSecs !== undefined && { idle_secs: idleSecs }),
        ...(metadata !== undefined && { metadata: JSON.stringify(metadata) }),
        ...(kept !== undefined && { launcher: kept.launcher, kept: kept.sealed }),
      };
      const work = async (trx: Transaction<Schema>) => {
        const row = await trx
          .updateTable("sandboxes")
          .set(columns)
          .where("id", "=", id)
          .where("worker_id", "=", worker)
          .where("ended_at", "is", null)
          .returningAll()
          .executeTakeFirst();
        return row ? toSandbox(row) : null;
      };
      return isFlushed ? transactions.run(work) : transactions.runUnflushed(work);
    },

    /** Ends a sandbox, with executions that still run. @returns as `update`. */
    end(id: string, worker: string, end: SandboxEnd): Promise<Sandbox | null> {
      return ended(async (trx) => {
        const rows = await trx
          .selectFrom("sandboxes")
          .select("seq")
          .where("id", "=", id)
          .where("worker_id", "=", worker)
          .where("ended_at", "is", null)
          .execute();
        return { seqs: rows.map(({ seq }) => seq), end };
      }).then(([sandbox]) => sandbox ?? null);
    },

    /**
     * Renews the leases of all sandboxes of a worker. @returns those that it still has, with what their accounts may have now. A worker
     * has lost those that are missing.
     */
    renew(worker: string, leaseUntilMs: number): Promise<RenewedSandbox[]> {
      return transactions.runUnflushed(async (trx) => {
        await trx
          .updateTable("sandboxes")
          .set({ lease_until: leaseUntilMs })
          .where("worker_id", "=", worker)
          .where("ended_at", "is", null)
          .execute();
        const rows = await trx
          .selectFrom("sandboxes")
          .innerJoin("accounts", "accounts.id", "sandboxes.account_id")
          .innerJoin("tiers", "tiers.name", "accounts.tier")
          .select([
            "sandboxes.id",
            "sandboxes.account_id",
            "suspended_at",
            "tiers.sandboxes",
            "sandbox_memory_bytes",
            "executions",
          ])
          .where("worker_id", "=", worker)
          .where("ended_at", "is", null)
          .execute();
        return rows.map((row) => ({
          id: row.id,
          accountId: row.account_id,
          isSuspended: row.suspended_at !== null,
          quota: toQuota(row),
        }));
      });
    },

    /** The kept sandboxes in this launcher that other workers have, or had. */
    async left(launcher: string, worker: string): Promise<LeftSandbox[]> {
      const rows = await db
        .selectFrom("sandboxes")
        .selectAll()
        .where("launcher", "=", launcher)
        .where("worker_id", "!=", worker)
        .where("ended_at", "is", null)
        .orderBy("seq")
        .execute();
      return rows.flatMap((row) => (row.kept === null ? [] : [{ sandbox: toSandbox(row), sealed: row.kept }]));
    },

    /**
     * Gives a sandbox to another worker, and ends its executions that ran as errors of the platform.
     * @returns null if it has ended, or no longer belongs to `from`.
     */
    takeOver(takeover: Takeover): Promise<TakenOver | null> {
      return transactions
        .run((trx) => takeOverSandbox(trx, takeover, now()), { notifications: ({ notifications }) => notifications })
        .then(({ value }) => value);
    },

    /** Notes that a worker has stopped, and has left its kept sandboxes to their launcher until this time. */
    async leave(worker: string, keptUntilMs: number): Promise<void> {
      await transactions.run((trx) =>
        trx
          .updateTable("sandboxes")
          .set({ kept_until: keptUntilMs, lease_until: keptUntilMs })
          .where("worker_id", "=", worker)
          .where("ended_at", "is", null)
          .where("kept", "is not", null)
          .execute(),
      );
    },

    /**
     * Ends a part of the sandboxes whose lease has expired: as `shutdown` if their worker has left them, and otherwise as `worker_lost`.
     * @param but if given, no other worker than this one can have a sandbox: those of others are ended whatever their lease.
     * @returns how many were ended; the caller repeats the call until it is 0.
     */
    async sweep(but: string | null): Promise<number> {
      const swept = await ended(async (trx) => {
        let lost = trx.selectFrom("sandboxes").select(["seq", "kept_until"]).where("ended_at", "is", null);
        lost = but === null ? lost.where("lease_until", "<", now()) : lost.where("worker_id", "!=", but);
        const rows = await lost.orderBy("seq").limit(ENDED_AT_ONCE).execute();
        const isLeft = rows[0]?.kept_until != null;
        return {
          seqs: rows.filter(({ kept_until }) => (kept_until !== null) === isLeft).map(({ seq }) => seq),
          end: { reason: isLeft ? "shutdown" : "worker_lost", endedAtMs: now(), evidence: null },
        };
      });
      return swept.length;
    },

    /** Stores an execution that begins. */
    begin(
      execution: Execution,
      worker: string,
      { keyId, isAwaited }: BeginOptions = { keyId: null, isAwaited: false },
    ): Promise<ExecutionBegun> {
      const { sandboxId } = execution;
      return (isAwaited ? beginUnflushed : begin)({ sandboxId, worker, keyId, columns: fromExecution(execution) });
    },

    /** Makes an execution that was stored as one that is awaited durable, as `begin` makes the others. */
    async confirm({ sandboxId, number }: Pick<Execution, "sandboxId" | "number">): Promise<void> {
      await transactions.run((trx) =>
        trx
          .updateTable("executions")
          .set((eb) => ({ started_at: eb.ref("started_at") }))
          .where("sandbox_seq", "=", trx.selectFrom("sandboxes").select("seq").where("id", "=", sandboxId))
          .where("number", "=", number)
          .execute(),
      );
    },

    /** Stores the end of an execution. */
    endExecution: (ended: EndedExecution): Promise<void> => end(executionEnd(ended)),

    /** @returns null if the account has no such sandbox. */
    async get(id: string, accountId: string): Promise<Sandbox | null> {
      const row = await sandboxRow(db, id, accountId);
      return row ? toSandbox(row) : null;
    },

    /** What a sandbox that has ended used, oldest first; empty if nothing is known. */
    async usage(id: string, accountId: string): Promise<UsageSample[]> {
      const row = await db
        .selectFrom("sandbox_usage")
        .innerJoin("sandboxes", "sandboxes.seq", "sandbox_usage.sandbox_seq")
        .select("samples")
        .where("sandboxes.id", "=", id)
        .where("sandboxes.account_id", "=", accountId)
        .executeTakeFirst();
      return row ? decodeUsage(row.samples) : [];
    },

    async list(accountId: string, which: SandboxList): Promise<SandboxPage> {
      const { state, metadata = {}, before, max } = which;
      const wanted = Object.entries(metadata);
      const found: Sandbox[] = [];
      let at = before ?? Number.MAX_SAFE_INTEGER;
      // Metadata has no index: the rows of the account are read in parts, and their number is bounded.
      for (let read = 0; read < MAX_READ; ) {
        const atOnce = wanted.length > 0 ? 100 : max + 1;
        let query = db
          .selectFrom("sandboxes")
          .selectAll()
          .where("account_id", "=", accountId)
          .where("seq", "<", at)
          .orderBy("account_id", "desc")
          .orderBy("seq", "desc")
          .limit(atOnce);
        if (state !== undefined) query = query.where("state", "=", state);
        const rows = await query.execute();
        read += rows.length;
        for (const row of rows) {
          const sandbox = toSandbox(row);
          if (!wanted.every(([name, value]) => sandbox.metadata[name] === value)) {
            at = row.seq;
            continue;
          }
          if (found.length === max) return { sandboxes: found, next: at };
          found.push(sandbox);
          at = row.seq;
        }
        if (rows.length < atOnce) return { sandboxes: found, next: null };
      }
      return { sandboxes: found, next: at };
    },

    /** Executions of a sandbox, newest first, without outputs. @param before a number; only lower ones are read. @returns null if the account has no such sandbox. */
    async executions(
      id: string,
      accountId: string,
      { before = MAX_NUMBER, max }: { readonly before?: number | undefined; readonly max: number },
    ): Promise<ExecutionPage | null> {
      const sandbox = await sandboxRow(db, id, accountId);
      if (!sandbox) return null;
      const rows = await db
        .selectFrom("executions")
        .select(EXECUTION_COLUMNS)
        .where("sandbox_seq", "=", sandbox.seq)
        .where("number", "<", Math.min(before, MAX_NUMBER))
        .orderBy("number", "desc")
        .limit(max + 1)
        .execute();
      const executions = rows.slice(0, max).map((row) => toExecution(sandbox, row));
      return { executions, next: rows.length > max ? (executions.at(-1)?.number ?? null) : null };
    },

    /** @param admit awaited with the size of the output before that is read. @returns null if the account has no such execution. */
    async execution(id: string, accountId: string, number: number, admit?: ReserveMemory): Promise<Execution | null> {
      if (number > MAX_NUMBER) return null;
      const sandbox = await sandboxRow(db, id, accountId);
      if (!sandbox) return null;
      const found = db.selectFrom("executions").where("sandbox_seq", "=", sandbox.seq).where("number", "=", number);
      const bytes = sql<number | null>`length(stdout) + length(stderr)`.as("bytes");
      const row = await found.select([...EXECUTION_COLUMNS, bytes]).executeTakeFirst();
      if (!row) return null;
      if (row.bytes === null) return toExecution(sandbox, row);
      await admit?.(row.bytes);
      const output = await found.select(["stdout", "stderr"]).executeTakeFirst();
      return output ? toExecution(sandbox, { ...row, ...output }) : null;
    },
  };

  /** Ends the sandboxes that a function chooses in the transaction. */
  function ended(
    choose: (trx: Parameters<typeof endSandboxes>[0]) => Promise<{ seqs: readonly number[]; end: SandboxEnd }>,
  ): Promise<readonly Sandbox[]> {
    return transactions
      .run(
        async (trx) => {
          const { seqs, end } = await choose(trx);
          return await endSandboxes(trx, seqs, end);
        },
        { notifications: ({ notifications }) => notifications },
      )
      .then(({ value }) => value);
  }
}

function sandboxRow(db: Kysely<Schema>, id: string, accountId: string) {
  return db
    .selectFrom("sandboxes")
    .selectAll()
    .where("id", "=", id)
    .where("account_id", "=", accountId)
    .executeTakeFirst();
}
