import type { Transaction } from "kysely";
import { dayOf } from "../../domain/egress/bound.ts";
import type { Abilities } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import { toNetwork } from "../sandboxes/rows.ts";
import { lockEgress, readBounds } from "./bounds.ts";

type Trx = Transaction<Schema>;

export type EgressDirection = "up" | "down";

/** A worker wants bytes for a sandbox that it has. */
export interface LeaseRequest {
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

interface Holder {
  readonly seq: number;
  readonly account_id: string;
  readonly project_id: string | null;
  readonly network: string | null;
  readonly network_version: number;
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
  const owners = await trx.selectFrom("sandboxes").select("account_id").where("id", "in", ids).execute();
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

function holder(trx: Trx, sandboxId: string) {
  return trx
    .selectFrom("sandboxes")
    .select(["seq", "account_id", "project_id", "network", "network_version", "leased_up", "leased_down"])
    .where("id", "=", sandboxId);
}

async function lease(trx: Trx, { sandboxId, worker, direction, wanted }: LeaseRequest, day: string): Promise<number> {
  const { leased, budget } = COLUMNS[direction];
  const row = await holder(trx, sandboxId)
    .where("worker_id", "=", worker)
    .where("ended_at", "is", null)
    .executeTakeFirst();
  if (!row) return 0;
  const { network } = toNetwork(row);
  if (network === "none") return 0;
  const left = Math.min(network[budget] - row[leased], await leftOfDay(trx, row, direction, day));
  const bytes = Math.max(0, Math.min(wanted, left));
  if (bytes === 0) return 0;
  await trx
    .updateTable("sandboxes")
    .set((eb) => ({ [leased]: eb(leased, "+", bytes) }))
    .where("seq", "=", row.seq)
    .execute();
  for (const owner of ownersOf(row)) {
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
async function leftOfDay(trx: Trx, row: Holder, direction: EgressDirection, day: string): Promise<number> {
  const { day: column, perDay } = COLUMNS[direction];
  const { account, project } = await readBounds(trx, { accountId: row.account_id, projectId: row.project_id });
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

/** The accounts and projects of whose days the bytes of a sandbox are. They are counted also without a bound, which can be set during the day. */
function ownersOf({ account_id, project_id }: Holder): string[] {
  return project_id === null ? [account_id] : [account_id, project_id];
}

async function giveBack(trx: Trx, { sandboxId, direction, day, unused }: UnusedBytes): Promise<void> {
  const { leased, day: column } = COLUMNS[direction];
  const row = await holder(trx, sandboxId).executeTakeFirst();
  if (!row) return;
  const bytes = Math.min(unused, row[leased]);
  if (bytes <= 0) return;
  await trx
    .updateTable("sandboxes")
    .set((eb) => ({ [leased]: eb(leased, "-", bytes) }))
    .where("seq", "=", row.seq)
    .execute();
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
    .where("owner_id", "in", ownersOf(row))
    .where("day", "=", day)
    .execute();
}
