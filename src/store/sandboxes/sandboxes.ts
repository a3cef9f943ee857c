import { type Kysely, sql, type Transaction } from "kysely";
import type { SandboxEgressRecord } from "../../domain/egress/egress-record.ts";
import { hasNetwork, type NetworkPolicy, toNetworkJson } from "../../domain/egress/policy.ts";
import type { Execution } from "../../domain/sandboxes/execution.ts";
import { SANDBOX_FEATURES, type Sandbox, type SandboxEndReason } from "../../domain/sandboxes/sandbox.ts";
import { decodeUsage, type UsageSample } from "../../domain/sandboxes/usage.ts";
import { nextQueue, type QueueOwner } from "../../fairness/turn.ts";
import type { Database } from "../database/database.ts";
import type { Notifier } from "../database/notifier.ts";
import type { Schema } from "../database/schema.ts";
import type { AddToGroup, Transactions } from "../database/transactions.ts";
import { lockEgress, whyBeyondBound } from "../egress/bounds.ts";
import { OPERATIONS } from "../operations.ts";
import type { ReserveMemory } from "../submissions/types.ts";
import {
  type BegunExecution,
  createSandbox,
  type ExecutionEnd,
  endSandboxes,
  executionEnd,
  QUOTA_COLUMNS,
  releaseExecution,
  takeOverSandbox,
  toQuota,
} from "./changes.ts";
import { EXECUTION_COLUMNS, fromExecution, SANDBOX_COLUMNS, toExecution, toLimits, toSandbox } from "./rows.ts";
import type {
  BeginOptions,
  ClaimedSandbox,
  Created,
  EndedExecution,
  ExecutionBegun,
  ExecutionPage,
  LeftSandbox,
  NetworkReplaced,
  NewSandboxRow,
  RenewedSandbox,
  SandboxEnd,
  SandboxList,
  SandboxPage,
  SandboxUpdate,
  TakenOver,
  Takeover,
  WaitingSandbox,
} from "./types.ts";

export type SandboxStore = ReturnType<typeof sandboxStore>;

/** The most rows that one list reads. A list that filters can find few of them. */
const MAX_READ = 500;
/** The most sandboxes that one transaction ends, and the most executions that a purge deletes with their outputs. */
const ENDED_AT_ONCE = 16;
/** The most waiting sandboxes that a process considers at once. */
const MOST_WAITING = 1_024;
/** The highest number of an execution: that of the column's type. */
const MAX_NUMBER = 2_147_483_647;

/**
 * Sandboxes and their executions. Every change of a sandbox names the worker that has it, and does nothing if another one has it or it has
 * ended. A worker renews the lease of its sandboxes; those of a worker that no longer does so are ended by `sweep`.
 * @param now milliseconds since the epoch.
 */
export function sandboxStore(
  { db, abilities }: Database,
  transactions: Transactions,
  notifier: Notifier,
  now: () => number,
) {
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
  /** Rows stay as they were read until the end of the transaction. With one writer, they do anyway. */
  const locked = <Query extends { forUpdate(): Query }>(query: Query): Query =>
    abilities.oneWriter ? query : query.forUpdate();
  return {
    /**
     * Stores a sandbox. Only the next update of it waits for the disk, because nobody hears of it before it runs, unless another process
     * answers a repeated request, or claims it.
     */
    create(created: NewSandboxRow): Promise<Created> {
      const work = (trx: Transaction<Schema>) => createSandbox(trx, abilities, created, now());
      const isHeardOf = created.idempotency !== null && !abilities.oneWriter;
      const waits = created.service !== undefined;
      if (!isHeardOf && !waits) return transactions.runUnflushed(work);
      return transactions.run(work, {
        notifications: ({ kind }) => (waits && kind === "created" ? [{ kind: "sandboxes" }] : []),
      });
    },

    /**
     * The sandboxes that wait for a process that claims them, in the order in which they should be claimed: next is one of the account that
     * has fewest sandboxes with a process, and of several, the one that has waited longest.
     * @param services only sandboxes for which these services wait.
     * @param snapshotStore only sandboxes that begin with no snapshot, with one that this store has, or with one that has been removed since.
     * @param features only sandboxes that need no newer feature, by default none that this release does not know.
     */
    async waiting(
      services: readonly string[],
      snapshotStore: string,
      features = SANDBOX_FEATURES,
    ): Promise<WaitingSandbox[]> {
      if (services.length === 0) return [];
      const rows = await db
        .selectFrom("sandboxes")
        .innerJoin("accounts", "accounts.id", "sandboxes.account_id")
        .leftJoin("snapshots", "snapshots.id", "sandboxes.from_snapshot")
        .select(["sandboxes.seq", "sandboxes.id", "sandboxes.account_id", "limits"])
        .select((eb) => eb("network", "is not", null).as("has_network"))
        .select((eb) =>
          eb
            .selectFrom("sandboxes as others")
            .whereRef("others.account_id", "=", "sandboxes.account_id")
            .where("others.ended_at", "is", null)
            .where("others.worker_id", "!=", sql.lit(""))
            .select((one) => one.fn.countAll<number | string>().as("amount"))
            .as("living"),
        )
        .where("ended_at", "is", null)
        .where("worker_id", "=", sql.lit(""))
        .where("service_id", "in", services)
        .where("needs", "<=", features)
        .where("suspended_at", "is", null)
        .where((eb) => eb.or([eb("store_id", "is", null), eb("store_id", "=", snapshotStore)]))
        .orderBy("sandboxes.seq")
        .limit(MOST_WAITING)
        .execute();
      const owners = new Map<string, QueueOwner>();
      const queues = rows.map((row) => {
        const owner = owners.get(row.account_id) ?? { id: row.account_id, turn: row.seq, underWay: Number(row.living) };
        owners.set(row.account_id, owner);
        return { row, owner, underWay: 0 };
      });
      const ordered: WaitingSandbox[] = [];
      for (let next = nextQueue(queues, bySeq); next; next = nextQueue(queues, bySeq)) {
        queues.splice(queues.indexOf(next), 1);
        next.owner.underWay++;
        const { id, account_id: accountId } = next.row;
        // SQLite has no type for truth.
        ordered.push({ id, accountId, limits: toLimits(next.row), hasNetwork: Boolean(next.row.has_network) });
      }
      return ordered;
    },

    /**
     * Claims a sandbox that waits. @param features as of `waiting`.
     * @returns null if it has ended, another process has claimed it, or it needs a newer feature.
     */
    claim(
      id: string,
      worker: string,
      leaseUntilMs: number,
      features = SANDBOX_FEATURES,
    ): Promise<ClaimedSandbox | null> {
      return transactions.run(
        async (trx) => {
          const row = await trx
            .updateTable("sandboxes")
            .set({ worker_id: worker, lease_until: leaseUntilMs })
            .where("id", "=", id)
            .where("worker_id", "=", sql.lit(""))
            .where("needs", "<=", features)
            .where("ended_at", "is", null)
            .returningAll()
            .executeTakeFirst();
          if (!row) return null;
          const tier = await trx
            .selectFrom("accounts")
            .innerJoin("tiers", "tiers.name", "accounts.tier")
            .select(QUOTA_COLUMNS)
            .where("accounts.id", "=", row.account_id)
            .executeTakeFirstOrThrow();
          return { sandbox: toSandbox(row), quota: toQuota(tier) };
        },
        { notifications: (claimed) => (claimed ? [{ kind: "sandbox", id }] : []) },
      );
    },

    /**
     * Ends a sandbox that has not begun to run, because the service does not wait any longer. @param which also one that a process has claimed, or only one that still waits.
     * @returns whether it has ended now; false: it runs, has ended before, or a process has claimed it.
     */
    async giveUp(id: string, which: "claimed" | "waiting"): Promise<boolean> {
      const given = await ended(async (trx) => {
        let unbegun = trx
          .updateTable("sandboxes")
          .set({ lease_until: now() }) // locks the row, so that it cannot begin to run meanwhile
          .where("id", "=", id)
          .where("state", "=", "creating")
          .where("ended_at", "is", null);
        if (which === "waiting") unbegun = unbegun.where("worker_id", "=", sql.lit(""));
        const rows = await unbegun.returning("seq").execute();
        return {
          seqs: rows.map(({ seq }) => seq),
          end: { reason: "failed", endedAtMs: now(), evidence: null },
        };
      });
      return given.length > 0;
    },

    /** Calls the listener when a sandbox may wait for a process. @returns a function that ends the subscription. */
    onWaiting: (listener: () => void): (() => void) => notifier.on("sandboxes", listener),

    /** Calls the listener when a sandbox was claimed or has ended. @returns a function that ends the subscription. */
    onSandbox: (id: string, listener: () => void): (() => void) => notifier.onSandbox(id, listener),

    /**
     * @param isFlushed whether the update must survive a power failure. What only matters while the sandbox lives need not, because no
     * sandbox survives one. With several writers, it does all the same: the database can be lost without the machine of the sandbox.
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
      return isFlushed || !abilities.oneWriter ? transactions.run(work) : transactions.runUnflushed(work);
    },

    /**
     * Replaces the network policy of a sandbox, which then has the next version. The policy must be within the network bound at this moment: a change
     * of the bound comes either before it, or narrows it.
     */
    replaceNetwork(id: string, worker: string, policy: NetworkPolicy): Promise<NetworkReplaced> {
      return transactions.run(async (trx): Promise<NetworkReplaced> => {
        const own = trx
          .selectFrom("sandboxes")
          .selectAll()
          .where("id", "=", id)
          .where("worker_id", "=", worker)
          .where("ended_at", "is", null);
        const owner = await own.executeTakeFirst();
        if (!owner) return { kind: "lost" };
        const sandbox = toSandbox(owner);
        if (!hasNetwork(sandbox.network))
          return policy === "none" ? { kind: "replaced", sandbox } : { kind: "without" };
        await lockEgress(trx, abilities, owner.account_id);
        const reason = await whyBeyondBound(trx, sandbox, policy);
        if (reason !== null) return { kind: "network", reason };
        const row = await trx
          .updateTable("sandboxes")
          .set((eb) => ({
            network: JSON.stringify(toNetworkJson(policy)),
            network_version: eb("network_version", "+", 1),
          }))
          .where("id", "=", id)
          .where("worker_id", "=", worker)
          .where("ended_at", "is", null)
          .returningAll()
          .executeTakeFirst();
        return row ? { kind: "replaced", sandbox: toSandbox(row) } : { kind: "lost" };
      });
    },

    /** Ends a sandbox, with executions that still run. @returns as `update`. */
    end(id: string, worker: string, end: SandboxEnd): Promise<Sandbox | null> {
      return ended(async (trx) => {
        const own = trx
          .selectFrom("sandboxes")
          .select("seq")
          .where("id", "=", id)
          .where("worker_id", "=", worker)
          .where("ended_at", "is", null);
        const rows = await locked(own).execute();
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
          .select(["sandboxes.id", "sandboxes.account_id", "suspended_at", "network_version", ...QUOTA_COLUMNS])
          .where("worker_id", "=", worker)
          .where("ended_at", "is", null)
          .execute();
        return rows.map((row) => ({
          id: row.id,
          accountId: row.account_id,
          isSuspended: row.suspended_at !== null,
          quota: toQuota(row),
          networkVersion: row.network_version,
        }));
      });
    },

    /** The kept sandboxes in this launcher that other workers have, or had. @param features as of `waiting`. */
    async left(launcher: string, worker: string, features = SANDBOX_FEATURES): Promise<LeftSandbox[]> {
      const rows = await db
        .selectFrom("sandboxes")
        .select([...SANDBOX_COLUMNS, "kept", "kept_until"])
        .where("launcher", "=", launcher)
        .where("worker_id", "!=", worker)
        .where("needs", "<=", features)
        .where("ended_at", "is", null)
        .orderBy("seq")
        .execute();
      return rows.flatMap((row) =>
        row.kept === null ? [] : [{ sandbox: toSandbox(row), sealed: row.kept, isLeft: row.kept_until !== null }],
      );
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
     * Ends a part of the sandboxes whose lease has expired: as `shutdown` if their worker has left them, as `failed` if no process
     * had claimed them, and otherwise as `worker_lost`.
     * @param but if given, no other worker than this one can have a sandbox: those of others are ended whatever their lease.
     * @returns the reasons of those that were ended; the caller repeats the call until there are none.
     */
    async sweep(but: string | null): Promise<readonly SandboxEndReason[]> {
      const swept = await ended(async (trx) => {
        let lost = trx.selectFrom("sandboxes").select(["seq", "worker_id", "kept_until"]).where("ended_at", "is", null);
        lost = but === null ? lost.where("lease_until", "<", now()) : lost.where("worker_id", "!=", but);
        const rows = await locked(lost.orderBy("seq").limit(ENDED_AT_ONCE)).execute();
        const [first] = rows;
        const reason = first ? lostReason(first) : "worker_lost";
        // All that are ended together have the same reason: the others follow in the next call.
        return {
          seqs: rows.filter((row) => lostReason(row) === reason).map(({ seq }) => seq),
          end: { reason, endedAtMs: now(), evidence: null },
        };
      });
      return swept.map(({ endReason }) => endReason ?? "worker_lost");
    },

    /** Stores an execution that begins. */
    begin(
      execution: Execution,
      worker: string,
      { keyId, isAwaited }: BeginOptions = { keyId: null, isAwaited: false },
    ): Promise<ExecutionBegun> {
      const { sandboxId, accountId } = execution;
      const isUnflushed = isAwaited && abilities.oneWriter; // for the reason of `update`
      return (isUnflushed ? beginUnflushed : begin)({
        sandboxId,
        accountId,
        worker,
        keyId,
        columns: fromExecution(execution),
      });
    },

    /**
     * Makes an execution that was stored as one that is awaited durable, as `begin` makes the others. Nobody waits for it any more, so its end is a
     * message for webhooks.
     */
    async confirm(execution: Pick<Execution, "sandboxId" | "number">): Promise<void> {
      await transactions.run((trx) => releaseExecution(trx, execution), {
        notifications: (notifications) => notifications,
      });
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

    /** What a sandbox that has ended reached over the network; null if it had no network, or nothing is known. */
    async egress(id: string, accountId: string): Promise<SandboxEgressRecord | null> {
      const row = await db
        .selectFrom("sandbox_egress")
        .innerJoin("sandboxes", "sandboxes.seq", "sandbox_egress.sandbox_seq")
        .select("body")
        .where("sandboxes.id", "=", id)
        .where("sandboxes.account_id", "=", accountId)
        .executeTakeFirst();
      return row ? (JSON.parse(row.body) as SandboxEgressRecord) : null;
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
          .select([...SANDBOX_COLUMNS, "seq"])
          .where("account_id", "=", accountId)
          .where("seq", "<", at)
          .orderBy("account_id", "desc")
          .orderBy("seq", "desc")
          .limit(atOnce);
        if (state !== undefined) query = query.where("state", "=", state);
        const rows = await query.execute();
        read += rows.length;
        for (const row of rows) {
          const { metadata: pairs } = row;
          const has = wanted.length > 0 ? (JSON.parse(pairs) as Record<string, string>) : {};
          if (!wanted.every(([name, value]) => has[name] === value)) {
            at = row.seq;
            continue;
          }
          if (found.length === max) return { sandboxes: found, next: at };
          found.push(toSandbox(row));
          at = row.seq;
        }
        if (rows.length < atOnce) return { sandboxes: found, next: null };
      }
      return { sandboxes: found, next: at };
    },

    /** Executions of a sandbox, newest first, without outputs and egress. @param before a number; only lower ones are read. @returns null if the account has no such sandbox. */
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

    /** @param admit awaited with the size of the output and the egress before these are read. @returns null if the account has no such execution. */
    async execution(id: string, accountId: string, number: number, admit?: ReserveMemory): Promise<Execution | null> {
      if (number > MAX_NUMBER) return null;
      const sandbox = await sandboxRow(db, id, accountId);
      if (!sandbox) return null;
      const found = db.selectFrom("executions").where("sandbox_seq", "=", sandbox.seq).where("number", "=", number);
      const bytes =
        sql<number>`coalesce(length(stdout), 0) + coalesce(length(stderr), 0) + coalesce(length(egress), 0)`.as(
          "bytes",
        );
      const hasMore = sql<number | null>`coalesce(length(stdout), length(stderr), length(egress))`.as("has_more");
      const row = await found.select([...EXECUTION_COLUMNS, bytes, hasMore]).executeTakeFirst();
      if (!row) return null;
      if (row.has_more === null) return toExecution(sandbox, row);
      await admit?.(Number(row.bytes));
      const output = await found.select(["stdout", "stderr", "egress"]).executeTakeFirst();
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

/** Why a sandbox ended whose lease has expired. */
function lostReason(row: { readonly worker_id: string; readonly kept_until: number | null }): SandboxEndReason {
  if (row.worker_id === "") return "failed";
  return row.kept_until === null ? "worker_lost" : "shutdown";
}

function bySeq(one: { readonly row: { readonly seq: number } }, other: typeof one): number {
  return one.row.seq - other.row.seq;
}

function sandboxRow(db: Kysely<Schema>, id: string, accountId: string) {
  return db
    .selectFrom("sandboxes")
    .select([...SANDBOX_COLUMNS, "seq"])
    .where("id", "=", id)
    .where("account_id", "=", accountId)
    .executeTakeFirst();
}
