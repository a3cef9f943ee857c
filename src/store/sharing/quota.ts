import { sql, type Transaction } from "kysely";
import { Batcher } from "../engine/batcher.ts";
import type { Engine } from "../engine/engine.ts";
import { inTime, READ_PATIENCE_MS } from "../engine/in-time.ts";
import type { Transactions } from "../engine/transactions.ts";
import type { Schema } from "../schema/schema.ts";

import { Recent, SKEW_MS, WINDOW_MS } from "./recent.ts";

/** Counts the requests of each key in the last minute, over all processes and restarts. */
export type QuotaStore = ReturnType<typeof quotaStore>;

/**
 * Counts the requests of each key over all processes. Each admitted request is a row with the next
 * number of its key, so the row that decides is found by its number, without counting. The primary
 * key, not a lock, prevents two processes from taking the same place.
 * Concurrent requests of a process are batched. Separately, requests of one key took the same number, and all but one waited
 * for the other commit and started again.
 *
 * With a single writer, one process serves all requests. It also keeps the last minute in memory, so that a request that only
 * reads does not wait for a lock of another process: memory decides, and the database is updated when the lock is free.
 * @param now milliseconds since the epoch.
 */
export function quotaStore({ capabilities: abilities }: Engine, transactions: Transactions, now: () => number) {
  // A power failure may lose the last requests; in return, requests do not wait for the disk.
  const takes = new Batcher((all: readonly Take[]) => takeAll(transactions, all, now));
  const recent = abilities.oneWriter ? new Recent() : null;
  /** Requests that are not yet counted in the database; while there are any, the next one does not wait either. */
  let late = 0;
  return {
    /**
     * Admits one more request of the key, or refuses it. The sliding limit is exact over all processes, and refused
     * requests do not count. A changed limit applies from the next request on, and also to requests before it.
     * @param limit requests in any 60 s; it may differ between calls.
     * @param onlyReads if a single process serves the database and another one keeps it locked, a request that only reads does
     * not wait: this process decides by the requests that it admitted itself, and counts the request in the database when the
     * lock is free. The request may then count longer than a minute, by the duration of the lock, and a restart before that
     * loses it.
     * @returns 0 if admitted, otherwise the whole seconds until a request will be.
     */
    async take(keyId: string, limit: number, onlyReads: boolean = false): Promise<number> {
      if (!recent) return await takes.add({ keyId, limit });
      const spent = recent.waitSecs(keyId, limit, now());
      if (spent > 0) return spent;
      const counted = takes.add({ keyId, limit });
      let waitSecs = onlyReads ? await inTime(counted, late > 0 ? 0 : READ_PATIENCE_MS) : await counted;
      if (waitSecs === undefined) {
        late++;
        counted.catch(() => {}).finally(() => late--);
        waitSecs = recent.waitSecs(keyId, limit, now());
      }
      if (waitSecs === 0) recent.add(keyId, now());
      return waitSecs;
    },

    /** Removes requests outside of the window. To be called periodically. */
    async forget(): Promise<void> {
      recent?.forget(now());
      const cutoff = now() - WINDOW_MS;
      await transactions.runAsyncCommit((trx) =>
        trx
          .deleteFrom("quota")
          .where("at", "<=", cutoff)
          // The newest row of each key stays, because the next number continues from it.
          .where(({ exists, selectFrom }) =>
            exists(
              selectFrom("quota as newer")
                .select("newer.n")
                .whereRef("newer.key_id", "=", "quota.key_id")
                .whereRef("newer.n", ">", "quota.n"),
            ),
          )
          .execute(),
      );
    },
  };
}

export interface Take {
  readonly keyId: string;
  readonly limit: number;
}

/** The last number of a key with its time; `at` is null if there is none yet. */
interface Newest {
  readonly keyId: string;
  readonly n: number;
  readonly at: number | null;
}

/** @returns for each request, in order, 0 or the seconds until a place is free. */
async function takeAll(transactions: Transactions, all: readonly Take[], now: () => number): Promise<number[]> {
  const answers = new Map<Take, number>();
  for (let left = all; left.length > 0; left = left.filter((one) => !answers.has(one))) {
    const some = await transactions.callAsyncCommit("takeQuota", { takes: left, nowMs: now() });
    for (const [at, one] of left.entries()) {
      const answer = some[at];
      if (answer !== undefined) answers.set(one, answer);
    }
  }
  return all.map((one) => answers.get(one) ?? 0);
}

/** @returns the known results, in order. The others must be retried: the clock was set back, or another process was first. */
export async function takeQuota(
  trx: Transaction<Schema>,
  all: readonly Take[],
  nowMs: number,
): Promise<(number | undefined)[]> {
  const answers = await takeSome(trx, all, nowMs);
  return all.map((one) => answers.get(one));
}

async function takeSome(trx: Transaction<Schema>, all: readonly Take[], nowMs: number): Promise<Map<Take, number>> {
  const byKey = Map.groupBy(all, ({ keyId }) => keyId);
  const newest: Newest[] = [];
  for (const one of await readNewest(trx, [...byKey.keys()])) {
    if (one.at !== null && one.at > nowMs + SKEW_MS) await stepBack(trx, one.keyId, { n: one.n, at: one.at }, nowMs);
    else newest.push(one);
  }
  const places = await readPlaces(trx, newest, byKey);
  const answers = new Map<Take, number>();
  const passed: { take: Take; row: { key_id: string; n: number; at: number } }[] = [];
  for (const { keyId, n, at } of newest) {
    const ownAt = Math.max(nowMs, at ?? 0);
    let next = n + 1;
    for (const take of sameLimit(byKey.get(keyId))) {
      const place = next - take.limit;
      const placeAt = place > n ? ownAt : places.get(`${keyId} ${place}`);
      const waitMs = take.limit <= 0 ? WINDOW_MS : placeAt === undefined ? 0 : placeAt + WINDOW_MS - nowMs;
      if (waitMs > 0) answers.set(take, Math.ceil(waitMs / 1000));
      else passed.push({ take, row: { key_id: keyId, n: next++, at: ownAt } });
    }
  }
  if (passed.length === 0) return answers;
  const inserted = await trx
    .insertInto("quota")
    .values(passed.map(({ row }) => row))
    .onConflict((conflict) => conflict.columns(["key_id", "n"]).doNothing())
    .returning(["key_id", "n"])
    .execute();
  const ours = new Set(inserted.map(({ key_id, n }) => `${key_id} ${n}`));
  for (const { take, row } of passed) if (ours.has(`${row.key_id} ${row.n}`)) answers.set(take, 0);
  return answers;
}

/** In a fixed order, to avoid deadlocks between processes that insert numbers of the same keys. */
async function readNewest(trx: Transaction<Schema>, keyIds: readonly string[]): Promise<Newest[]> {
  const { rows } = await sql<{ id: string; n: number | null; at: number | null }>`
    select api_keys.id, quota.n, quota.at
    from api_keys
    left join quota on quota.key_id = api_keys.id
      and quota.n = (select max(newest.n) from quota as newest where newest.key_id = api_keys.id)
    where api_keys.id in (${sql.join(keyIds)})`.execute(trx);
  const found = new Map(rows.map(({ id, n, at }) => [id, { keyId: id, n: n ?? 0, at }]));
  // An unknown key has no numbers, and the database rejects its first one.
  return keyIds.toSorted().map((keyId) => found.get(keyId) ?? { keyId, n: 0, at: null });
}

/** @returns by key and number, the times of the requests that must leave the window before the next is admitted. */
async function readPlaces(
  trx: Transaction<Schema>,
  newest: readonly Newest[],
  byKey: ReadonlyMap<string, readonly Take[]>,
): Promise<Map<string, number>> {
  const wanted = newest.flatMap(({ keyId, n }) => {
    const takes = sameLimit(byKey.get(keyId));
    const first = n + 1 - (takes[0]?.limit ?? 0);
    const last = Math.min(n, first + takes.length - 1);
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

/** The requests of a key before a change of its limit; the others are retried. */
function sameLimit(takes: readonly Take[] = []): readonly Take[] {
  return takes.filter(({ limit }) => limit === takes[0]?.limit);
}

/**
 * After the clock was set back, moves the key's requests back as well: the newest to now, the
 * others by the same distance. Each still counts for exactly one minute.
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
  // Otherwise, another process has just moved them.
  if (numUpdatedRows === 0n) return;
  await trx
    .updateTable("quota")
    .set((eb) => ({ at: eb("at", "-", newest.at - nowMs) }))
    .where("key_id", "=", keyId)
    .where("n", "<", newest.n)
    .execute();
}
