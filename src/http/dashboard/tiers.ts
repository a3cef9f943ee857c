import { z } from "zod";
import { setTier } from "../../admin/tiers.ts";
import type { Tier } from "./api/settings.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";

const limits = z.strictObject({ requestsPerMinute: z.number(), concurrency: z.number() });

/** PUT /dashboard/api/tiers/:name: creates a tier, or changes its limits for all accounts that have it. */
export const tierRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "put",
    path: "/tiers/{name}",
    session: "administrator",
    body: limits,
    handler:
      ({ dependencies: { store } }) =>
      async ({ actor, path, body }): Promise<Tier> => {
        const tier = { name: path.name, ...body };
        return setTier(store, tier, actor);
      },
  }),
];
