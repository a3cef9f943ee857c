import { within } from "../../../../bench/load/database.ts";
import type { DatabaseLocation } from "../../../../src/domain/database.ts";
import type { Store } from "../../../../src/store/store.ts";

export interface SeededRun {
  readonly accountId: string;
  readonly keyId: string | null;
  readonly language: string;
  /** The verdict of the run, or CE. */
  readonly verdict: string;
  readonly endedMs: number;
  readonly waitMs: number;
  readonly runMs: number;
}

export interface SeededDelivery {
  readonly endpointId: string;
  readonly state: "delivered" | "failed";
  readonly endedMs: number;
}

/** Counts ended runs and deliveries that have no records, as if the retention time had passed. */
export async function seedHistory(
  { store, database }: { readonly store: Store; readonly database: DatabaseLocation },
  runs: readonly SeededRun[],
  deliveries: readonly SeededDelivery[] = [],
): Promise<void> {
  await within(database, async ({ db }) => {
    for (let from = 0; from < runs.length; from += 1_000) {
      const rows = runs.slice(from, from + 1_000).map((run, i) => ({
        submission_seq: 1_000_000_000 + from + i,
        account_id: run.accountId,
        key_id: run.keyId,
        language: run.language,
        verdict: run.verdict,
        completed_at: run.endedMs,
        wait_ms: run.waitMs,
        run_ms: run.runMs,
      }));
      await db.insertInto("uncounted").values(rows).execute();
    }
    for (let from = 0; from < deliveries.length; from += 1_000) {
      const rows = deliveries.slice(from, from + 1_000).map(({ endpointId, state, endedMs }, i) => ({
        delivery_seq: 1_000_000_000 + from + i,
        endpoint_id: endpointId,
        state,
        ended_at: endedMs,
      }));
      await db.insertInto("uncounted_deliveries").values(rows).execute();
    }
  });
  while ((await store.history.count(1_000)) === 1_000);
  while ((await store.history.countDeliveries(1_000)) === 1_000);
}

/** Numbers from 0 to 1, the same in each run. */
export function numbers(seed = 1): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
