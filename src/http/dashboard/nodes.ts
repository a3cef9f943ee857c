import type { Node } from "./api/nodes.ts";
import { checkAnswers } from "./health.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";

/**
 * GET /dashboard/api/nodes: the workers, which all accounts share. For a member, `running` counts only the runs of own accounts.
 */
export const nodeRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/nodes",
    session: "member",
    handler:
      ({ dependencies: { store, nodes, languages } }) =>
      async ({ person: { accountIds, administrator } }): Promise<Node[]> => {
        const [all, running] = await Promise.all([nodes(), store.workers.running(accountIds)]);
        return all.map(({ id, slots, languages: proven, readiness, provenAtMs }) => ({
          id,
          slots,
          languages: proven.filter((name) => !languages.resolve(name)?.unlisted),
          ready: readiness.ready,
          cgroupBackend: readiness.cgroupBackend,
          checks: checkAnswers(readiness, languages, administrator),
          provenAt: readiness.ready ? new Date(provenAtMs).toISOString() : null,
          running: running.get(id) ?? 0,
        }));
      },
  }),
];
