import type { Transaction } from "kysely";
import type { EgressHost } from "../../domain/egress/egress-record.ts";
import type { Abilities } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import type { BoundOwner } from "./bounds.ts";

/** The most names with counts of their own, for each account, project and day. Programs choose the names. */
export const MAX_HOSTS_A_DAY = 1_000;
/** The longest name. No name of a host is longer. */
const MAX_NAME = 253;
/** The most rows of one statement. */
const ROWS_AT_ONCE = 500;

export interface EgressHostCounts extends BoundOwner {
  /** `name` null: all that were not listed. */
  readonly hosts: readonly EgressHost[];
}

/** What was reached, or tried, on one day. */
export interface EgressHostOfDay extends EgressHost {
  readonly day: string;
  /** Null: of sandboxes without a project. */
  readonly projectId: string | null;
}

/** Adds counts to those of a day. Names above the bound are counted together. */
export async function addHosts(
  trx: Transaction<Schema>,
  { lock }: Pick<Abilities, "lock">,
  { accountId, projectId, hosts }: EgressHostCounts,
  day: string,
): Promise<void> {
  // The number of names must not grow between its reading and the insertion.
  await lock(trx, `egress hosts of ${accountId}`);
  const owner = { account_id: accountId, day, project_id: projectId ?? "" };
  const stored = await trx
    .selectFrom("egress_hosts")
    .select("name")
    .distinct()
    .where("account_id", "=", owner.account_id)
    .where("day", "=", owner.day)
    .where("project_id", "=", owner.project_id)
    .where("name", "!=", "")
    .execute();
  const known = new Set(stored.map(({ name }) => name));
  const sums = new Map<string, EgressHost & { readonly name: string }>();
  for (const host of hosts) {
    let name = host.name === null || !isListable(host.name) ? "" : host.name;
    if (name !== "" && !known.has(name)) {
      if (known.size < MAX_HOSTS_A_DAY) known.add(name);
      else name = "";
    }
    const key = `${host.decision} ${name}`;
    const sum = sums.get(key) ?? { name, decision: host.decision, connections: 0, bytes_up: 0, bytes_down: 0 };
    sums.set(key, {
      ...sum,
      connections: sum.connections + host.connections,
      bytes_up: sum.bytes_up + host.bytes_up,
      bytes_down: sum.bytes_down + host.bytes_down,
    });
  }
  const rows = [...sums.values()].map((sum) => ({ ...owner, ...sum }));
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE)
    await trx
      .insertInto("egress_hosts")
      .values(rows.slice(at, at + ROWS_AT_ONCE))
      .onConflict((conflict) =>
        conflict.columns(["account_id", "day", "project_id", "name", "decision"]).doUpdateSet((eb) => ({
          connections: eb("egress_hosts.connections", "+", eb.ref("excluded.connections")),
          bytes_up: eb("egress_hosts.bytes_up", "+", eb.ref("excluded.bytes_up")),
          bytes_down: eb("egress_hosts.bytes_down", "+", eb.ref("excluded.bytes_down")),
        })),
      )
      .execute();
}

/** PostgreSQL has no text with U+0000, and a name of a host has only printable ASCII. */
function isListable(name: string): boolean {
  return name.length <= MAX_NAME && /^[\x21-\x7e]+$/.test(name);
}
