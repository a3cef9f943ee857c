import { type Kysely, sql, type Transaction } from "kysely";
import type { AuditActor } from "../../domain/audit.ts";
import { type NetworkBound, toBoundJson, whyBeyondAccount } from "../../domain/egress/bound.ts";
import {
  fromNetworkJson,
  type NetworkPolicy,
  narrow,
  toNetworkJson,
  whyNotNarrower,
} from "../../domain/egress/policy.ts";
import { addAuditEntry } from "../audit/audit.ts";
import type { Abilities } from "../database/database.ts";
import type { Row, Schema } from "../database/schema.ts";
import { toNetwork } from "../sandboxes/rows.ts";
import { ENQUEUE_LOCK } from "../submissions/enqueue.ts";

type Trx = Transaction<Schema>;

/** An account, or one of its projects. */
export interface BoundOwner {
  readonly accountId: string;
  /** Null: the account itself. */
  readonly projectId: string | null;
}

export interface StoredBound extends NetworkBound, BoundOwner {
  /** 1 at first, and one higher after each change. */
  readonly version: number;
  readonly changedAtMs: number;
}

/** The bounds that hold for sandboxes of a project, or of an account without a project. */
export interface Bounds {
  /** Null: the account has no network. */
  readonly account: StoredBound | null;
  /** Null: the bound is that of the account alone. */
  readonly project: StoredBound | null;
}

/** What became of a change of a bound. */
export type BoundChanged =
  /** `narrowed`: living sandboxes whose policy was replaced by a narrower one. */
  | { readonly kind: "changed"; readonly narrowed: number }
  /** The bound of a project is not within that of its account. */
  | { readonly kind: "beyond"; readonly reason: string }
  /** There is no such account, or no such project of it. */
  | { readonly kind: "unknown" };

/**
 * Serialises what reads bounds and budgets of an account and changes what depends on them. A transaction that also takes ENQUEUE_LOCK takes that first.
 */
export function lockEgress(trx: Trx, { lock }: Pick<Abilities, "lock">, accountId: string): Promise<void> {
  return lock(trx, `egress of ${accountId}`);
}

export async function readBounds(db: Kysely<Schema>, { accountId, projectId }: BoundOwner): Promise<Bounds> {
  const rows = await db
    .selectFrom("network_bounds")
    .selectAll()
    .where("owner_id", "in", projectId === null ? [accountId] : [accountId, projectId])
    .where("account_id", "=", accountId)
    .execute();
  const of = (id: string | null) => {
    const row = rows.find(({ owner_id }) => owner_id === id);
    return row ? toBound(row) : null;
  };
  return { account: of(accountId), project: of(projectId) };
}

export function toBound(row: Row<"network_bounds">): StoredBound {
  return {
    accountId: row.account_id,
    projectId: row.project_id,
    version: row.version,
    policy: fromNetworkJson(JSON.parse(row.policy)),
    upPerDay: row.up_per_day,
    downPerDay: row.down_per_day,
    changedAtMs: row.changed_at,
  };
}

/** What a sandbox may reach at most. */
export function effectivePolicy({ account, project }: Bounds): NetworkPolicy {
  if (account === null) return "none";
  // The bound of the account can have been narrowed after that of the project was set.
  return project === null ? account.policy : narrow(account.policy, project.policy);
}

/** Why a policy is not within the bounds of its owner, in words; null if it is. */
export async function whyBeyondBound(
  db: Kysely<Schema>,
  owner: BoundOwner,
  policy: NetworkPolicy,
): Promise<string | null> {
  if (policy === "none") return null;
  const { account, project } = await readBounds(db, owner);
  if (account === null) return "no network is open for this account";
  const [ofAccount, ofProject] = [account, project].map((bound) => bound && whyNotNarrower(bound.policy, policy));
  return ofAccount ?? ofProject ?? null;
}

/** Sets a bound, and narrows the policies of living sandboxes that are beyond it, in one transaction. */
export async function setBound(
  trx: Trx,
  abilities: Pick<Abilities, "lock">,
  owner: BoundOwner,
  bound: NetworkBound,
  actor: AuditActor,
  nowMs: number,
): Promise<BoundChanged> {
  await lockAll(trx, abilities, owner.accountId);
  if (!(await exists(trx, owner))) return { kind: "unknown" };
  const { account, project } = await readBounds(trx, owner);
  if (owner.projectId !== null) {
    const why = account === null ? "no network is open for the account" : whyBeyondAccount(account, bound);
    if (why !== null) return { kind: "beyond", reason: why };
  }
  const earlier = owner.projectId === null ? account : project;
  const { upPerDay, downPerDay } = bound;
  const columns = {
    version: (earlier?.version ?? 0) + 1,
    policy: JSON.stringify(toNetworkJson(bound.policy)),
    up_per_day: upPerDay,
    down_per_day: downPerDay,
    changed_at: nowMs,
  };
  await trx
    .insertInto("network_bounds")
    .values({ owner_id: idOf(owner), account_id: owner.accountId, project_id: owner.projectId, ...columns })
    .onConflict((conflict) => conflict.column("owner_id").doUpdateSet(columns))
    .execute();
  const narrowed = await narrowLiving(trx, owner);
  await addAuditEntry(trx, {
    atMs: nowMs,
    actor,
    action: "network.set",
    subject: idOf(owner),
    accountId: owner.accountId,
    detail: { version: columns.version, ...toBoundJson(bound), narrowed },
  });
  return { kind: "changed", narrowed };
}

/** Removes a bound. That of an account closes the network of all of its sandboxes; a project then has that of its account. */
export async function clearBound(
  trx: Trx,
  abilities: Pick<Abilities, "lock">,
  owner: BoundOwner,
  actor: AuditActor,
  nowMs: number,
): Promise<BoundChanged> {
  await lockAll(trx, abilities, owner.accountId);
  if (!(await exists(trx, owner))) return { kind: "unknown" };
  const removed = await trx
    .deleteFrom("network_bounds")
    .where("owner_id", "=", idOf(owner))
    .where("account_id", "=", owner.accountId)
    .returning("version")
    .executeTakeFirst();
  if (!removed) return { kind: "changed", narrowed: 0 };
  const narrowed = await narrowLiving(trx, owner);
  await addAuditEntry(trx, {
    atMs: nowMs,
    actor,
    action: "network.clear",
    subject: idOf(owner),
    accountId: owner.accountId,
    detail: { version: removed.version, narrowed },
  });
  return { kind: "changed", narrowed };
}

function idOf({ accountId, projectId }: BoundOwner): string {
  return projectId ?? accountId;
}

/** A sandbox that is created meanwhile is either narrowed here, or checked against the new bound. */
async function lockAll(trx: Trx, abilities: Pick<Abilities, "lock">, accountId: string): Promise<void> {
  await abilities.lock(trx, ENQUEUE_LOCK);
  await lockEgress(trx, abilities, accountId);
}

async function exists(trx: Trx, { accountId, projectId }: BoundOwner): Promise<boolean> {
  const found =
    projectId === null
      ? trx.selectFrom("accounts").select("id").where("id", "=", accountId)
      : trx.selectFrom("projects").select("id").where("id", "=", projectId).where("account_id", "=", accountId);
  return (await found.executeTakeFirst()) !== undefined;
}

/** Narrows the policies of living sandboxes that are beyond their bounds. @returns how many. */
async function narrowLiving(trx: Trx, { accountId, projectId }: BoundOwner): Promise<number> {
  let living = trx
    .selectFrom("sandboxes")
    .select(["seq", "project_id", "network", "network_version"])
    .where("account_id", "=", accountId)
    .where("ended_at", "is", null)
    .where("network", "is not", null);
  if (projectId !== null) living = living.where("project_id", "=", projectId);
  const upper = new Map<string | null, NetworkPolicy>();
  let narrowed = 0;
  for (const row of await living.orderBy("seq").execute()) {
    const bound =
      upper.get(row.project_id) ?? effectivePolicy(await readBounds(trx, { accountId, projectId: row.project_id }));
    upper.set(row.project_id, bound);
    const { network } = toNetwork(row);
    if (whyNotNarrower(bound, network) === null) continue;
    await trx
      .updateTable("sandboxes")
      .set({
        network: JSON.stringify(toNetworkJson(narrow(bound, network))),
        network_version: sql`network_version + 1`,
      })
      .where("seq", "=", row.seq)
      .where("ended_at", "is", null)
      .execute();
    narrowed++;
  }
  return narrowed;
}
