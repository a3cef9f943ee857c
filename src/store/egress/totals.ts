import type { Kysely } from "kysely";
import type { Schema } from "../database/schema.ts";

/** All that the sandboxes of an account, or of one project of it, have reached on one day. */
export interface EgressTotals {
  /** As in 2026-11-30, in UTC. */
  readonly day: string;
  /** Connections that were made. */
  readonly connections: number;
  /** Connections that were refused. */
  readonly denied: number;
  readonly bytes_up: number;
  readonly bytes_down: number;
}

export interface TotalsOf {
  readonly accountId: string;
  /** Absent: all projects. */
  readonly projectId?: string | undefined;
  /** The first and the last day. */
  readonly fromDay: string;
  readonly toDay: string;
}

/** The totals of each day on which something was reached or refused, the newest day first. */
export async function egressTotals(
  db: Kysely<Schema>,
  { accountId, projectId, fromDay, toDay }: TotalsOf,
): Promise<EgressTotals[]> {
  let query = db
    .selectFrom("egress_hosts")
    .select(["day", "decision"])
    .select((eb) => [
      eb.fn.sum<number | string>("connections").as("connections"),
      eb.fn.sum<number | string>("bytes_up").as("bytes_up"),
      eb.fn.sum<number | string>("bytes_down").as("bytes_down"),
    ])
    .where("account_id", "=", accountId)
    .where("day", ">=", fromDay)
    .where("day", "<=", toDay);
  if (projectId !== undefined) query = query.where("project_id", "=", projectId);
  const rows = await query.groupBy(["day", "decision"]).orderBy("day", "desc").execute();
  const days = new Map<string, EgressTotals>();
  for (const { day, decision, ...sums } of rows) {
    const total = days.get(day) ?? { day, connections: 0, denied: 0, bytes_up: 0, bytes_down: 0 };
    const amount = Number(sums.connections);
    days.set(day, {
      day,
      connections: total.connections + (decision === "allowed" ? amount : 0),
      denied: total.denied + (decision === "denied" ? amount : 0),
      bytes_up: total.bytes_up + Number(sums.bytes_up),
      bytes_down: total.bytes_down + Number(sums.bytes_down),
    });
  }
  return [...days.values()];
}
