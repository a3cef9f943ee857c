import type { AuditActor } from "../../domain/audit.ts";
import { dayOf, type NetworkBound } from "../../domain/egress/bound.ts";
import type { EgressHost } from "../../domain/egress/egress-record.ts";
import type { NetworkPolicy } from "../../domain/egress/policy.ts";
import type { Database } from "../database/database.ts";
import type { Transactions } from "../database/transactions.ts";
import { OPERATIONS } from "../operations.ts";
import {
  type BoundChanged,
  type BoundOwner,
  type Bounds,
  clearBound,
  effectivePolicy,
  readBounds,
  type StoredBound,
  setBound,
  toBound,
} from "./bounds.ts";
import { addHosts, type EgressHostCounts, type EgressHostOfDay } from "./hosts.ts";
import type { EgressLease, EgressMove, LeaseRequest, UnusedBytes } from "./leases.ts";
import { type EgressTotals, egressTotals, type TotalsOf } from "./totals.ts";

export type EgressStore = ReturnType<typeof egressStore>;

/** The bounds that hold for new sandboxes, and what they amount to. */
export interface EffectiveBound extends Bounds {
  /** What a sandbox may reach at most. */
  readonly policy: NetworkPolicy;
}

/** What the bounds leave of a day; null: there is no bound. What workers have leased and not used yet counts as used. */
export interface LeftOfDay {
  readonly day: string;
  readonly up: number | null;
  readonly down: number | null;
}

/** A bound with the names of its owner. */
export interface NamedBound extends StoredBound {
  readonly accountName: string;
  /** Null: the bound is that of the account. */
  readonly projectName: string | null;
}

export interface HostList {
  readonly accountId: string;
  /** Only sandboxes of this project; null: only those without a project; absent: all. */
  readonly projectId?: string | null | undefined;
  readonly decision?: EgressHost["decision"] | undefined;
  /** The first and the last day, as in 2026-11-30. */
  readonly fromDay: string;
  readonly toDay: string;
  /** The last one of the page before. */
  readonly after?: Pick<EgressHostOfDay, "day" | "projectId" | "name" | "decision"> | undefined;
  readonly max: number;
}

/**
 * The network of sandboxes: what operators permit, the budgets that all workers share, and what was reached.
 * @param now milliseconds since the epoch.
 */
export function egressStore({ db, abilities }: Database, transactions: Transactions, now: () => number) {
  // Together, so that those that wait for the lock of an account do not take all connections of the pool.
  const move = transactions.group({
    operation: OPERATIONS.moveEgress,
    asked: (moves: readonly EgressMove[]) => ({ moves, nowMs: now() }),
    answers: (leases: readonly EgressLease[]) => leases,
  });
  return {
    /** The bounds of sandboxes of a project, or of an account without a project. @param projectId one of the account; another one has no effect. */
    async bound(accountId: string, projectId: string | null): Promise<EffectiveBound> {
      const bounds = await readBounds(db, { accountId, projectId });
      return { ...bounds, policy: effectivePolicy(bounds) };
    },

    /** All bounds, by the names of their owners. @param accountIds only those of these accounts; null for all. */
    async bounds(accountIds: readonly string[] | null = null): Promise<NamedBound[]> {
      if (accountIds?.length === 0) return [];
      let query = db
        .selectFrom("network_bounds")
        .innerJoin("accounts", "accounts.id", "network_bounds.account_id")
        .leftJoin("projects", "projects.id", "network_bounds.project_id")
        .selectAll("network_bounds")
        .select(["accounts.name as account_name", "projects.name as project_name"])
        .orderBy("accounts.name")
        .orderBy("projects.name");
      if (accountIds) query = query.where("network_bounds.account_id", "in", accountIds);
      const rows = await query.execute();
      return rows.map((row) => ({
        ...toBound(row),
        accountName: row.account_name,
        projectName: row.project_name,
      }));
    },

    /**
     * Sets the bound of an account or project. The policies of its living sandboxes that are beyond it are narrowed with it; their workers apply that when they
     * next renew their leases.
     */
    setBound: (owner: BoundOwner, bound: NetworkBound, actor: AuditActor): Promise<BoundChanged> =>
      transactions.run((trx) => setBound(trx, abilities, owner, bound, actor, now())),

    /** Removes the bound of an account, which then has no network, or of a project, which then has that of its account. It does nothing if there is none. */
    clearBound: (owner: BoundOwner, actor: AuditActor): Promise<BoundChanged> =>
      transactions.run((trx) => clearBound(trx, abilities, owner, actor, now())),

    /** What the bounds leave of the present day. */
    async leftToday({ account, project }: Bounds): Promise<LeftOfDay> {
      const day = dayOf(now());
      const bounds = [account, project].filter((bound) => bound !== null);
      const owners = bounds.map((bound) => bound.projectId ?? bound.accountId);
      const used =
        owners.length === 0
          ? []
          : await db
              .selectFrom("egress_days")
              .selectAll()
              .where("day", "=", day)
              .where("owner_id", "in", owners)
              .execute();
      const least = (perDay: "upPerDay" | "downPerDay", column: "bytes_up" | "bytes_down") => {
        const left = bounds.flatMap((bound, at) => {
          const most = bound[perDay];
          const bytes = used.find(({ owner_id }) => owner_id === owners[at])?.[column] ?? 0;
          return most === null ? [] : [Math.max(0, most - bytes)];
        });
        return left.length === 0 ? null : Math.min(...left);
      };
      return { day, up: least("upPerDay", "bytes_up"), down: least("downPerDay", "bytes_down") };
    },

    /**
     * Leases bytes from the budget of a sandbox and from the days of its account and project, in one transaction: the sum of all leases, without what was
     * given back, is never above one of them, for all workers together. It is durable when it resolves.
     */
    lease: (request: LeaseRequest): Promise<EgressLease> => move({ kind: "lease", ...request }),

    /** Gives leased bytes back that were not used, at most once for each lease. */
    async giveBack(unused: UnusedBytes): Promise<void> {
      await move({ kind: "giveBack", ...unused });
    },

    /** Adds what sandboxes have reached since the last call to the counts of the present day. */
    async addHosts(counts: EgressHostCounts): Promise<void> {
      if (counts.hosts.length === 0) return;
      await transactions.run((trx) => addHosts(trx, abilities, counts, dayOf(now())));
    },

    /** The sums of `hosts`, for each day on which there is something, the newest day first. */
    totals: (which: TotalsOf): Promise<EgressTotals[]> => egressTotals(db, which),

    /** What the sandboxes of an account have reached, or tried to: newest day first, and by project, name and decision. */
    async hosts({ accountId, projectId, decision, fromDay, toDay, after, max }: HostList): Promise<EgressHostOfDay[]> {
      let query = db
        .selectFrom("egress_hosts")
        .selectAll()
        .where("account_id", "=", accountId)
        .where("day", ">=", fromDay)
        .where("day", "<=", toDay);
      if (projectId !== undefined) query = query.where("project_id", "=", projectId ?? "");
      if (decision !== undefined) query = query.where("decision", "=", decision);
      if (after)
        query = query.where((eb) =>
          eb.or([
            eb("day", "<", after.day),
            eb.and([
              eb("day", "=", after.day),
              eb(
                eb.refTuple("project_id", "name", "decision"),
                ">",
                eb.tuple(after.projectId ?? "", after.name ?? "", after.decision),
              ),
            ]),
          ]),
        );
      const rows = await query
        .orderBy("day", "desc")
        .orderBy("project_id")
        .orderBy("name")
        .orderBy("decision")
        .limit(max)
        .execute();
      return rows.map((row) => ({
        day: row.day,
        projectId: row.project_id === "" ? null : row.project_id,
        name: row.name === "" ? null : row.name,
        decision: row.decision as EgressHost["decision"],
        connections: row.connections,
        bytes_up: row.bytes_up,
        bytes_down: row.bytes_down,
      }));
    },
  };
}
