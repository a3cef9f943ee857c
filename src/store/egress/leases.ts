import type { Transaction } from "kysely";
import { dayOf } from "../../domain/egress/bound.ts";
import type { NetworkPolicy } from "../../domain/egress/policy.ts";
import type { Abilities } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import { toNetwork } from "../sandboxes/rows.ts";
import { toPolicy } from "../submissions/networks.ts";
import { lockEgress, readBounds } from "./bounds.ts";

type Trx = Transaction<Schema>;

export type EgressDirection = "up" | "down";

/** A worker wants bytes for a sandbox that it has. */
export interface LeaseRequest {
  /** The id of the sandbox, or of the submission that runs in a sandbox of its own. */
  readonly sandboxId: string;
  readonly worker: string;
  readonly direction: EgressDirection;
  /** At least 1. */
  readonly wanted: number;
}

export interface EgressLease {
  /** At most those that were wanted; 0 if a budget is used up, or the worker no longer has the sandbox. */
  readonly bytes: number;
  /** The day of whose budgets they are, as `giveBack` needs it. */
  readonly day: string;
}

/** Leased bytes that were not used. */
export interface UnusedBytes {
  /** As of the lease. */
  readonly sandboxId: string;
  readonly direction: EgressDirection;
  /** The one of the lease. */
  readonly day: string;
  /** At least 1. */
  readonly unused: number;
}

export type EgressMove = ({ readonly kind: "lease" } & LeaseRequest) | ({ readonly kind: "giveBack" } & UnusedBytes);

const COLUMNS = {
  up: { leased: "leased_up", day: "bytes_up", budget: "bytesUp", perDay: "upPerDay" },
  down: { leased: "leased_down", day: "bytes_down", budget: "bytesDown", perDay: "downPerDay" },
} as const;

/** What has a network: a sandbox, or a submission. */
interface Holder {
  /** Where its leases are counted. */
  readonly table: "sandboxes" | "submission_networks";
  readonly seq: number;
  readonly accountId: string;
  readonly projectId: string | null;
  readonly policy: NetworkPolicy;
  /** The worker that runs it; null: none does. */
  readonly worker: string | null;
  readonly leased_up: number;
  readonly leased_down: number;
}

/**
 * Leases bytes and takes unused ones back, one after the other for each account: the sum of what is leased never exceeds the budget of a sandbox, or the
 * day of an account or project, whatever the number of workers. What a worker leased and did not give back before its end stays leased.
 */
export async function moveEgress(
  trx: Trx,
  abilities: Pick<Abilities, "lock">,
  moves: readonly EgressMove[],
  nowMs: number,
): Promise<EgressLease[]> {
  const day = dayOf(nowMs);
  const ids = [...new Set(moves.map(({ sandboxId }) => sandboxId))];
  const accountsIn = (table: "sandboxes" | "submissions") =>
    trx.selectFrom(table).select("account_id").where("id", "in", ids);
  const owners = await accountsIn("sandboxes").union(accountsIn("submissions")).execute();
  // In order, so that two transactions with the same accounts do not wait for each other.
  for (const accountId of [...new Set(owners.map(({ account_id }) => account_id))].sort())
    await lockEgress(trx, abilities, accountId);
  const leases: EgressLease[] = [];
  for (const move of moves) {
    const isLease = move.kind === "lease";
    leases.push({ bytes: isLease ? await lease(trx, move, day) : 0, day });
    if (!isLease) await giveBack(trx, move);
  }
  return leases;
}

async function holderOf(trx: Trx, id: string): Promise<Holder | null> {
  const sandbox = await trx
    .selectFrom("sandboxes")
    .select(["seq", "account_id", "project_id", "network", "network_version", "leased_up", "leased_down"])
    .select(["worker_id", "ended_at"])
    .where("id", "=", id)
    .executeTakeFirst();
  if (sandbox) {
    const { account_id, project_id, worker_id, ended_at, network: _, network_version: __, ...counted } = sandbox;
    const policy = toNetwork(sandbox).network;
    const worker = ended_at === null ? worker_id : null;
    return { table: "sandboxes", accountId: account_id, projectId: project_id, policy, worker, ...counted };
  }
  const submission = await trx
    .selectFrom("submissions")
    .innerJoin("submission_networks", "submission_networks.submission_seq", "submissions.seq")
    .select(["seq", "account_id", "project_id", "network", "leased_up", "leased_down", "worker_id"])
    .where("id", "=", id)
    .executeTakeFirst();
  if (!submission) return null;
  // No worker runs a submission that is pending or has ended.
  const { account_id, project_id, worker_id: worker, network, ...counted } = submission;
  const owner = { accountId: account_id, projectId: project_id };
  return { table: "submission_networks", ...owner, policy: toPolicy(network), worker, ...counted };
}

/** Adds to the leased bytes of a holder, or takes from them if the number is negative. */
async function addLeased(trx: Trx, holder: Holder, direction: EgressDirection, bytes: number): Promise<void> {
  const { leased } = COLUMNS[direction];
  const value = { [leased]: holder[leased] + bytes };
  if (holder.table === "sandboxes")
    await trx.updateTable("sandboxes").set(value).where("seq", "=", holder.seq).execute();
  else await trx.updateTable("submission_networks").set(value).where("submission_seq", "=", holder.seq).execute();
}

async function lease(trx: Trx, { sandboxId, worker, direction, wanted }: LeaseRequest, day: string): Promise<number> {
  const { leased, budget } = COLUMNS[direction];
  const holder = await holderOf(trx, sandboxId);
  if (holder?.worker !== worker || holder.policy === "none") return 0;
  const left = Math.min(holder.policy[budget] - holder[leased], await leftOfDay(trx, holder, direction, day));
  const bytes = Math.max(0, Math.min(wanted, left));
  if (bytes === 0) return 0;
  await addLeased(trx, holder, direction, bytes);
  for (const owner of ownersOf(holder)) {
    const added = { bytes_up: direction === "up" ? bytes : 0, bytes_down: direction === "down" ? bytes : 0 };
    await trx
      .insertInto("egress_days")
      .values({ owner_id: owner, day, ...added })
      .onConflict((conflict) =>
        conflict.columns(["owner_id", "day"]).doUpdateSet((eb) => ({
          bytes_up: eb("egress_days.bytes_up", "+", added.bytes_up),
          bytes_down: eb("egress_days.bytes_down", "+", added.bytes_down),
        })),
      )
      .execute();
  }
  return bytes;
}

/** What the bounds of a day leave; without bounds of a day, all that there is. */
async function leftOfDay(
  trx: Trx,
  { accountId, projectId }: Holder,
  direction: EgressDirection,
  day: string,
): Promise<number> {
  const { day: column, perDay } = COLUMNS[direction];
  const { account, project } = await readBounds(trx, { accountId, projectId });
  const bounds = [account, project].flatMap((bound) => {
    const most = bound?.[perDay] ?? null;
    return bound === null || most === null ? [] : [{ owner: bound.projectId ?? bound.accountId, most }];
  });
  if (bounds.length === 0) return Number.POSITIVE_INFINITY;
  const used = await trx
    .selectFrom("egress_days")
    .select(["owner_id", column])
    .where("day", "=", day)
    .where(
      "owner_id",
      "in",
      bounds.map(({ owner }) => owner),
    )
    .execute();
  const usedBy = (owner: string) => used.find(({ owner_id }) => owner_id === owner)?.[column] ?? 0;
  return Math.min(...bounds.map(({ owner, most }) => most - usedBy(owner)));
}

/** The accounts and projects of whose days the bytes are. They are counted also without a bound, which can be set during the day. */
function ownersOf({ accountId, projectId }: Holder): string[] {
  return projectId === null ? [accountId] : [accountId, projectId];
}

async function giveBack(trx: Trx, { sandboxId, direction, day, unused }: UnusedBytes): Promise<void> {
  const { leased, day: column } = COLUMNS[direction];
  const holder = await holderOf(trx, sandboxId);
  if (!holder) return;
  const bytes = Math.min(unused, holder[leased]);
  if (bytes <= 0) return;
  await addLeased(trx, holder, direction, -bytes);
  await trx
    .updateTable("egress_days")
    .set((eb) => ({
      [column]: eb
        .case()
        .when(column, ">", bytes)
        .then(eb(column, "-", bytes))
        .else(0)
        .end(),
    }))
    .where("owner_id", "in", ownersOf(holder))
    .where("day", "=", day)
    .execute();
}
