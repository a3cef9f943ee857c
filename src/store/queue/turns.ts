import { type Kysely, sql, type Transaction } from "kysely";
import type { Schema } from "../database/schema.ts";

type Trx = Transaction<Schema>;

/** The key and the account of a submission. Each key has a queue; the queues of an account are those of its keys. */
export interface KeyOfAccount {
  readonly keyId: string;
  readonly accountId: string;
}

/** A key with running submissions, and their number. */
export interface RunningKey extends KeyOfAccount {
  readonly amount: number;
}

/** Counts the running submissions of each key. Their index is small, so records that have ended are not read. */
export async function countRunning(db: Kysely<Schema>): Promise<RunningKey[]> {
  const { rows } = await sql<{ key_id: string; account_id: string; amount: number | string }>`
    select key_id, amount, (select account_id from api_keys where id = key_id) as account_id
    from (select key_id, count(*) as amount from submissions where status = 'running' group by key_id) as counted`.execute(
    db,
  );
  return rows.map(({ key_id, account_id, amount }) => ({
    keyId: key_id,
    accountId: account_id,
    amount: Number(amount),
  }));
}

/**
 * Gives keys and accounts new turns. Those with the lowest turns are served next.
 * @param served in the order of service; the last one gets the highest turn.
 */
export async function takeTurns(trx: Trx, served: readonly KeyOfAccount[]): Promise<void> {
  await setTurns(trx, "api_keys", namesOf(served, "keyId"), "highest");
  await setTurns(trx, "accounts", namesOf(served, "accountId"), "highest");
}

/**
 * Gives back the turns of keys and accounts whose claimed submissions did not begin: unless they have other running submissions, they are
 * served next.
 * @param released in the reverse order of their claims, so that the one that was claimed first gets the lowest turn.
 */
export async function returnTurns(trx: Trx, released: readonly KeyOfAccount[]): Promise<void> {
  if (released.length === 0) return;
  const running = await countRunning(trx);
  for (const [table, name] of [
    ["api_keys", "keyId"],
    ["accounts", "accountId"],
  ] as const) {
    const others = new Set(namesOf(running, name));
    const idle = namesOf(released, name).filter((id) => !others.has(id));
    await setTurns(trx, table, idle, "lowest");
  }
}

function namesOf(owners: readonly KeyOfAccount[], name: keyof KeyOfAccount): string[] {
  return owners.map((owner) => owner[name]);
}

/** Gives the objects with these ids turns beyond all others, in the order of `ids`. An id that is repeated counts at its last place. */
async function setTurns(trx: Trx, table: "api_keys" | "accounts", ids: readonly string[], end: "highest" | "lowest") {
  const places = new Map(ids.map((id, at) => [id, at + 1]));
  if (places.size === 0) return;
  const cases = [...places].map(([id, place]) => sql`when ${id} then ${sql.lit(place)}`);
  const [of, away] = end === "highest" ? [sql`max`, sql`+`] : [sql`min`, sql`-`];
  await sql`update ${sql.table(table)}
    set turn = (select ${of}(turn) from ${sql.table(table)}) ${away} case id ${sql.join(cases, sql` `)} end
    where id in (${sql.join([...places.keys()])})`.execute(trx);
}
