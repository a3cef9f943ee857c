import { isPlaygroundKey } from "../../domain/key.ts";
import type { FirstSteps } from "./api/first-steps.ts";
import { accountsFor, listed } from "./pagination.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";

/** The number of keys whose submissions are searched for: the newest. A new user has only a few keys. */
const MOST_KEYS = 20;

const firstStepsQuery = listed.pick({ account: true });

/** GET /dashboard/api/first-steps. */
export const firstStepsRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/first-steps",
    session: "member",
    query: firstStepsQuery,
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, query }): Promise<FirstSteps> => {
        const accountIds = accountsFor(person, query.account);
        const [projects, endpoints, keys] = await Promise.all([
          store.projects.list({ accountIds, max: 1 }),
          store.endpoints.list({ accountIds, max: 1 }),
          store.keys.list({ accountIds, max: MOST_KEYS }),
        ]);
        const clientKeys = keys.filter((key) => !isPlaygroundKey(key));
        const hasRun = async () => {
          for (const { id, lastUsedAtMs } of clientKeys)
            if (
              lastUsedAtMs !== null &&
              (await store.submissionSearch.search({ accountIds, keyId: id, max: 1 })).found.length > 0
            )
              return true;
          return false;
        };
        return {
          project: projects.length > 0,
          key: clientKeys.some(({ isLive }) => isLive),
          run: await hasRun(),
          endpoint: endpoints.length > 0,
        };
      },
  }),
];
