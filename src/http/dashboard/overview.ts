import { z } from "zod";
import { BOUNDS, percentiles } from "../../domain/history.ts";
import type { Counts, HistoryRange } from "../../store/history/types.ts";
import {
  type Amounts,
  GROUPINGS,
  type GroupHistory,
  type Grouping,
  type History,
  type Latency,
  type Now,
  type Overview,
  type UsageHistory,
} from "./api/overview.ts";
import { idText, ownEndpoint, ownKey, ownProject } from "./authorize.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { accountsFor } from "./pagination.ts";
import { type Ranged, ranged, rangeOf } from "./range.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import type { SignedIn } from "./session.ts";

/** The most groups in a chart. People could not distinguish the colours of more groups. */
const MOST_GROUPS = 7;
const MOST_FAILING = 5;

const account = z.string().min(1).max(100).optional();
const now = z.strictObject({ account });
const overview = ranged.extend({ account, by: z.enum(GROUPINGS).default("verdict") });
const usageQuery = ranged
  .extend({ key: idText.optional(), project: idText.optional(), endpoint: idText.optional() })
  .refine(
    ({ key, project, endpoint }) => [key, project, endpoint].filter((one) => one !== undefined).length === 1,
    "key, project or endpoint",
  );

/** /dashboard/api/overview and /dashboard/api/use: the present state and the history of the accounts that the person may see. */
export const overviewRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/overview",
    session: "member",
    query: overview,
    handler:
      ({ dependencies }) =>
      async ({ person, query: { account, by, ...which } }): Promise<Overview> => {
        const accountIds = accountsFor(person, account);
        const range = rangeOf(which, "1h", Date.now());
        return {
          now: await nowOf(dependencies, accountIds),
          history: await historyOf(dependencies, range, by, accountIds),
        };
      },
  }),
  dashboardRoute({
    method: "get",
    path: "/overview/now",
    session: "member",
    query: now,
    handler:
      ({ dependencies }) =>
      async ({ person, query }): Promise<Now> => {
        return await nowOf(dependencies, accountsFor(person, query.account));
      },
  }),
  dashboardRoute({
    method: "get",
    path: "/use",
    session: "member",
    query: usageQuery,
    handler:
      ({ dependencies }) =>
      async ({ person, query: { key, project, endpoint, ...which } }): Promise<UsageHistory> => {
        return await useOf(dependencies, person, rangeOf(which, "7d", Date.now()), { key, project, endpoint });
      },
  }),
];

/** The present state. To find `ready`, it starts no self-test, because that costs a run. */
async function nowOf({ store, workers }: DashboardDependencies, accountIds: readonly string[] | null): Promise<Now> {
  const { pending, oldestPendingMs, running, deliveries } = await store.backlog(accountIds ?? undefined);
  return {
    at: new Date().toISOString(),
    pending,
    oldestPendingMs,
    running: Object.values(running).reduce((sum, amount) => sum + amount, 0),
    slots: workers.capacity(),
    deliveriesDue: deliveries,
    ready: workers.capacity() > 0 && workers.languages().length > 0,
  };
}

async function historyOf(
  { store }: DashboardDependencies,
  { window, starts, ...times }: Ranged,
  by: Grouping,
  accountIds: readonly string[] | null,
): Promise<History> {
  const range: HistoryRange = { ...times, accountIds };
  const [counts, groups, deliveries, failing, load] = await Promise.all([
    store.history.read(range),
    by === "verdict" ? [] : store.history.groups(range, by, MOST_GROUPS),
    store.history.deliveries(range),
    store.history.failing(range, MOST_FAILING),
    store.history.load(range),
  ]);
  const endedAt = Map.groupBy(counts.ended, ({ at }) => at);
  const deliveriesAt = Map.groupBy(deliveries, ({ at }) => at);
  const loadAt = new Map(load.map(({ at, ...values }) => [at, values]));
  const ended = (at: number, state: "delivered" | "failed") =>
    sum((deliveriesAt.get(at) ?? []).filter((one) => one.state === state));
  return {
    window,
    bucketMs: range.bucketMs,
    buckets: starts.map((at) => ({
      at: new Date(at).toISOString(),
      verdicts: byVerdict(endedAt.get(at) ?? []),
      deliveries: { delivered: ended(at, "delivered"), failed: ended(at, "failed") },
      load: loadAt.get(at) ?? null,
    })),
    by,
    groups: groups.map(({ id, name, ended }): GroupHistory => {
      const amounts = Map.groupBy(ended, ({ at }) => at);
      return { id, name, verdicts: byVerdict(ended), amounts: starts.map((at) => sum(amounts.get(at) ?? [])) };
    }),
    wait: latencyOf(counts, "wait", starts),
    run: latencyOf(counts, "run", starts),
    bounds: BOUNDS,
    failing,
  };
}

function latencyOf({ times }: Counts, kind: "wait" | "run", starts: readonly number[]): Latency {
  const ofKind = times.filter((one) => one.kind === kind);
  const at = Map.groupBy(ofKind, (one) => one.at);
  return {
    percentiles: percentiles(byBin(ofKind)),
    buckets: starts.map((start) => {
      const bins = byBin(at.get(start) ?? []);
      return { percentiles: percentiles(bins), bins: [...bins].sort(([a], [b]) => a - b) };
    }),
  };
}

function byBin(times: Counts["times"]): ReadonlyMap<number, number> {
  return new Map([...Map.groupBy(times, ({ bin }) => bin)].map(([bin, rows]) => [bin, sum(rows)]));
}

function byVerdict(ended: Counts["ended"]): Amounts {
  return Object.fromEntries([...Map.groupBy(ended, ({ verdict }) => verdict)].map(([name, rows]) => [name, sum(rows)]));
}

function sum(rows: readonly { readonly amount: number }[]): number {
  return rows.reduce((total, { amount }) => total + amount, 0);
}

/** @throws ClientError notFound for a key, project or endpoint that the person may not see. */
async function useOf(
  { store }: DashboardDependencies,
  person: SignedIn,
  { window, starts, ...times }: Ranged,
  { key, project, endpoint }: Pick<z.output<typeof usageQuery>, "key" | "project" | "endpoint">,
): Promise<UsageHistory> {
  const rows = async () => {
    const of = (accountId: string): HistoryRange => ({ ...times, accountIds: [accountId] });
    if (key !== undefined)
      return await store.history.readOf(of((await ownKey(store, person, key)).accountId), { keyId: key });
    if (project !== undefined)
      return await store.history.readOf(of((await ownProject(store, person, project)).accountId), {
        projectId: project,
      });
    const { accountId } = await ownEndpoint(store, person, endpoint ?? "");
    const found = await store.history.deliveries(of(accountId), endpoint);
    return found.map(({ at, state, amount }) => ({ at, verdict: state, amount }));
  };
  const at = Map.groupBy(await rows(), (row) => row.at);
  const buckets = starts.map((start) => ({
    at: new Date(start).toISOString(),
    amounts: byVerdict(at.get(start) ?? []),
  }));
  return { window, bucketMs: times.bucketMs, buckets };
}
