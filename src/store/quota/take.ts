import { sql, type Transaction } from "kysely";
import type { Schema } from "../database/schema.ts";
import { SKEW_MS, WINDOW_MS } from "./recent-requests.ts";

/** A call of `QuotaStore.take`. */
export interface Take {
  readonly keyId: string;
  readonly limit: number;
  readonly amount: number;
  readonly counted: number;
  /** The search for the oldest request in the window begins at this number, because none before it is in the window. 0 if unknown. */
  readonly from: number;
}

/** A request by its number, with its time. */
export interface NumberedRequest {
  readonly n: number;
  readonly at: number;
}

/** The result of a `Take`. */
export interface Taken {
  readonly waitSecs: number;
  /** The number of the newest request of the key. */
  readonly newest: number;
  /** The oldest request in the window; null if there is none. */
  readonly first: NumberedRequest | null;
}

/** The requests of a key in the database. */
interface Newest {
  readonly keyId: string;
  /** The number of the newest request; 0 if there is none. */
  readonly n: number;
  /** The time of the newest request; null if there is none. */
  readonly at: number | null;
  /** The oldest request in the window; null if there is none. */
  readonly first: NumberedRequest | null;
}

/**
 * Admits or refuses requests. @returns a result for each, in order. A request without a result must be repeated: the clock was set back,
 * another process took its number, or an earlier request of the group has another limit for the same key.
 */
export async function takeQuota(
  trx: Transaction<Schema>,
  all: readonly Take[],
  nowMs: number,
): Promise<(Taken | undefined)[]> {
  const answers = await takeSome(trx, all, nowMs);
  return all.map((one) => answers.get(one));
}

async function takeSome(trx: Transaction<Schema>, all: readonly Take[], nowMs: number): Promise<Map<Take, Taken>> {
  const byKey = Map.groupBy(all, ({ keyId }) => keyId);
  const newest: Newest[] = [];
  for (const one of await readNewest(trx, byKey, nowMs - WINDOW_MS)) {
    if (one.at !== null && one.at > nowMs + SKEW_MS) await stepBack(trx, one.keyId, { n: one.n, at: one.at }, nowMs);
    else newest.push(one);
  }
  const places = await readPlaces(trx, newest, byKey);
  const answers = new Map<Take, Taken>();
  const passed: { take: Take; first: NumberedRequest; rows: { key_id: string; n: number; at: number }[] }[] = [];
  for (const { keyId, n, at, first } of newest) {
    const ownAt = Math.max(nowMs, at ?? 0);
    const oldest = first ?? { n: n + 1, at: ownAt };
    let next = n + 1;
    for (const take of sameLimit(byKey.get(keyId))) {
      /** How long until `more` requests are admitted: the request that is `limit` numbers before the last of them must be a minute old. */
      const waitMs = (more: number): number => {
        const place = next + more - 1 - take.limit;
        if (place >= next) return WINDOW_MS;
        const placeAt = place > n ? ownAt : places.get(`${keyId} ${place}`);
        return placeAt === undefined ? 0 : Math.max(0, placeAt + WINDOW_MS - nowMs);
      };
      const state = { newest: next - 1, first: next > oldest.n ? oldest : null };
      if (waitMs(take.amount) > 0) {
        answers.set(take, { waitSecs: Math.ceil(waitMs(take.amount + take.counted) / 1000), ...state });
        continue;
      }
      const rows = Array.from({ length: take.amount }, (_, index) => ({ key_id: keyId, n: next + index, at: ownAt }));
      next += take.amount;
      passed.push({ take, first: oldest, rows });
    }
  }
  if (passed.length === 0) return answers;
  const inserted: { key_id: string; n: number }[] = [];
  for (const rows of inGroups(passed.flatMap((one) => one.rows)))
    inserted.push(
      ...(await trx
        .insertInto("quota")
        .values(rows)
        .onConflict((conflict) => conflict.columns(["key_id", "n"]).doNothing())
        .returning(["key_id", "n"])
        .execute()),
    );
  const insertedPlaces = new Set(inserted.map(({ key_id, n }) => `${key_id} ${n}`));
  /** For each key of which another process took a number: from this number on, the numbers are given back and taken again. */
  const lost = new Map<string, number>();
  for (const { take, first, rows } of passed) {
    const isWhole = !lost.has(take.keyId) && rows.every(({ key_id, n }) => insertedPlaces.has(`${key_id} ${n}`));
    if (isWhole) answers.set(take, { waitSecs: 0, newest: rows.at(-1)?.n ?? 0, first });
    else if (!lost.has(take.keyId)) lost.set(take.keyId, rows[0]?.n ?? 0);
  }
  const back = inserted.filter(({ key_id, n }) => n >= (lost.get(key_id) ?? Number.POSITIVE_INFINITY));
  for (const rows of inGroups(back))
    await trx
      .deleteFrom("quota")
      .where((eb) => eb.or(rows.map(({ key_id, n }) => eb.and([eb("key_id", "=", key_id), eb("n", "=", n)]))))
      .execute();
  return answers;
}

/** The most rows of one statement: SQLite bounds the parameters of a statement to 32,766, and the depth of its conditions to 1,000. */
const MOST_ROWS = 900;

function* inGroups<T>(rows: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < rows.length; at += MOST_ROWS) yield rows.slice(at, at + MOST_ROWS);
}

/**
 * Reads the newest request and the oldest one in the window of each key. The keys have a fixed order, to avoid deadlocks between processes
 * that then insert numbers of the same keys.
 */
async function readNewest(
  trx: Transaction<Schema>,
  byKey: ReadonlyMap<string, readonly Take[]>,
  cutoff: number,
): Promise<Newest[]> {
  const keyIds = [...byKey.keys()].sort();
  // Only the last `limit` requests matter: if all of them are in the window, the limit is used up.
  const searched = keyIds.map((keyId) => {
    const takes = byKey.get(keyId) ?? [];
    const [from, most] = [Math.max(...takes.map((one) => one.from)), Math.max(...takes.map(({ limit }) => limit))];
    return sql`(${keyId}, cast(${from} as bigint), cast(${most} as bigint))`;
  });
  type Row = { id: string; n: number | null; at: number | null; first: number | null; first_at: number | null };
  const { rows } = await sql<Row>`
    with wanted(id, start, most) as (values ${sql.join(searched)})
    select wanted.id, quota.n, quota.at, first.n as first, first.at as first_at
    from wanted
    left join quota on quota.key_id = wanted.id
      and quota.n = (select max(newest.n) from quota as newest where newest.key_id = wanted.id)
    left join quota as first on first.key_id = wanted.id
      and first.n = (select live.n from quota as live where live.key_id = wanted.id and live.at > ${cutoff}
        and live.n >= case when wanted.start > 0 then wanted.start else quota.n - wanted.most + 1 end
        order by live.n limit 1)`.execute(trx);
  const found = new Map(rows.map((row) => [row.id, row]));
  // An unknown key has no numbers, and the database rejects the first one, because the key does not exist.
  return keyIds.map((keyId) => {
    const { n, at = null, first, first_at } = found.get(keyId) ?? {};
    return { keyId, n: n ?? 0, at, first: first && first_at ? { n: first, at: first_at } : null };
  });
}

/** @returns by key and number, the times of the requests that must leave the window before the next requests are admitted. */
async function readPlaces(
  trx: Transaction<Schema>,
  newest: readonly Newest[],
  byKey: ReadonlyMap<string, readonly Take[]>,
): Promise<Map<string, number>> {
  const wanted = newest.flatMap(({ keyId, n }) => {
    const takes = sameLimit(byKey.get(keyId));
    const first = n + 1 - (takes[0]?.limit ?? 0);
    const amount = takes.reduce((sum, take) => sum + take.amount, 0);
    const counted = Math.max(0, ...takes.map((take) => take.counted));
    const last = Math.min(n, first + amount + counted - 1);
    return last >= 1 && first <= last ? [{ keyId, first, last }] : [];
  });
  if (wanted.length === 0) return new Map();
  const rows = await trx
    .selectFrom("quota")
    .select(["key_id", "n", "at"])
    .where((eb) =>
      eb.or(
        wanted.map(({ keyId, first, last }) =>
          eb.and([eb("key_id", "=", keyId), eb("n", ">=", first), eb("n", "<=", last)]),
        ),
      ),
    )
    .execute();
  return new Map(rows.map(({ key_id, n, at }) => [`${key_id} ${n}`, at]));
}

/** The requests of a key that have the same limit as the first of them. The others must be repeated. */
function sameLimit(takes: readonly Take[] = []): readonly Take[] {
  return takes.filter(({ limit }) => limit === takes[0]?.limit);
}

/**
 * After the clock was set back, moves the requests of a key back as well: the newest to now, and the others by the same time. Each of them
 * still counts for exactly one minute.
 */
async function stepBack(
  trx: Transaction<Schema>,
  keyId: string,
  newest: { readonly n: number; readonly at: number },
  nowMs: number,
): Promise<void> {
  const { numUpdatedRows } = await trx
    .updateTable("quota")
    .set({ at: nowMs })
    .where("key_id", "=", keyId)
    .where("n", "=", newest.n)
    .where("at", "=", newest.at)
    .executeTakeFirst();
  // If no row has changed, another process has just moved the requests.
  if (numUpdatedRows === 0n) return;
  await trx
    .updateTable("quota")
    .set((eb) => ({ at: eb("at", "-", newest.at - nowMs) }))
    .where("key_id", "=", keyId)
    .where("n", "<", newest.n)
    .execute();
}
