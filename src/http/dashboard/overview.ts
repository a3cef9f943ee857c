import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { percentiles } from "../../domain/history.ts";
import type { Counts } from "../../store/history/types.ts";
import { type Bucket, type History, type Now, type Overview, WINDOWS, type Window } from "./api/overview.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { queryOf } from "./parse.ts";
import { accountsOf } from "./submissions.ts";

const OVERVIEW = "/dashboard/api/overview";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Number and length of the buckets of each window: some hundred, so that a chart is neither coarse nor crowded. */
const BUCKETS: Readonly<Record<Window, { readonly amount: number; readonly bucketMs: number }>> = {
  "1h": { amount: 60, bucketMs: MINUTE_MS },
  "24h": { amount: 96, bucketMs: 15 * MINUTE_MS },
  "7d": { amount: 84, bucketMs: 2 * HOUR_MS },
  "30d": { amount: 120, bucketMs: 6 * HOUR_MS },
};

const account = z.string().min(1).max(100).optional();
const now = z.strictObject({ account });
const overview = z.strictObject({ account, window: z.enum(WINDOWS).default("1h") });

/** Current state and history of the service, for the accounts visible to the person. */
export function overviewRoutes(server: FastifyInstance, d: DashboardDependencies): void {
  const config = { session: "member" } as const;

  server.get(OVERVIEW, { config }, async (request): Promise<Overview> => {
    const { account, window } = queryOf(request, overview);
    const accountIds = accountsOf(request, account);
    return { now: await nowOf(d, accountIds), history: await historyOf(d, window, accountIds) };
  });

  server.get(`${OVERVIEW}/now`, { config }, async (request): Promise<Now> => {
    return await nowOf(d, accountsOf(request, queryOf(request, now).account));
  });
}

/** Whether any worker accepts work now. Does not start a self-test, which costs a run. */
async function nowOf({ store, engine }: DashboardDependencies, accountIds: readonly string[] | null): Promise<Now> {
  const { pending, oldestPendingMs, running, deliveries } = await store.backlog(accountIds ?? undefined);
  return {
    at: new Date().toISOString(),
    pending,
    oldestPendingMs,
    running: Object.values(running).reduce((sum, amount) => sum + amount, 0),
    slots: engine.workers(),
    deliveriesDue: deliveries,
    ready: engine.workers() > 0 && engine.languages().length > 0,
  };
}

async function historyOf(
  { store }: DashboardDependencies,
  window: Window,
  accountIds: readonly string[] | null,
): Promise<History> {
  const { amount, bucketMs } = BUCKETS[window];
  const nowMs = Date.now();
  const last = nowMs - (nowMs % bucketMs);
  const fromMs = last - (amount - 1) * bucketMs;
  const counts = await store.history.read({ fromMs, bucketMs, accountIds });
  const starts = Array.from({ length: amount }, (_, at) => fromMs + at * bucketMs);
  return { window, bucketMs, buckets: bucketsOf(counts, starts) };
}

function bucketsOf({ ended, times }: Counts, starts: readonly number[]): Bucket[] {
  const endedAt = Map.groupBy(ended, ({ at }) => at);
  const timesAt = Map.groupBy(times, ({ at, kind }) => `${kind} ${at}`);
  const bins = (name: string) => new Map((timesAt.get(name) ?? []).map(({ bin, amount }) => [bin, amount]));
  return starts.map((start) => {
    const verdicts = Object.fromEntries((endedAt.get(start) ?? []).map(({ verdict, amount }) => [verdict, amount]));
    return {
      at: new Date(start).toISOString(),
      verdicts,
      // Exactly the runs with status `error` have the verdict IE.
      errors: verdicts.IE ?? 0,
      waitMs: percentiles(bins(`wait ${start}`)),
      runMs: percentiles(bins(`run ${start}`)),
    };
  });
}
