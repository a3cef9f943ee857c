import { type Kysely, sql } from "kysely";
import type { Schema } from "../database/schema.ts";
import { WINDOW_MS } from "../quota/recent-requests.ts";
import type { KeyUsage } from "./types.ts";

/**
 * The present usage of keys, by id; unused keys are absent. Statuses are literals, because the planner cannot use a partial index with a
 * parameter.
 */
export async function readUsage(
  db: Kysely<Schema>,
  ids: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, KeyUsage>> {
  const usage = new Map<string, KeyUsage>();
  if (ids.length === 0) return usage;
  const chosen = sql`and key_id in (${sql.join(ids)})`;
  const counted = {
    requests: sql<Counted>`
      select key_id, count(*) as amount from quota where at > ${nowMs - WINDOW_MS} ${chosen} group by key_id`,
    pending: sql<Counted>`
      select key_id, count(*) as amount from submissions where status = 'pending' ${chosen} group by key_id`,
    running: sql<Counted>`
      select key_id, count(*) as amount from submissions where status = 'running' ${chosen} group by key_id`,
  };
  for (const [name, query] of Object.entries(counted)) {
    for (const { key_id, amount } of (await query.execute(db)).rows) {
      const before = usage.get(key_id) ?? { requests: 0, pending: 0, running: 0 };
      usage.set(key_id, { ...before, [name]: Number(amount) });
    }
  }
  return usage;
}

interface Counted {
  readonly key_id: string;
  readonly amount: number | string;
}
