import { z } from "zod";
import {
  clearNetwork,
  listHosts,
  listTotals,
  MAX_HOSTS,
  setNetwork,
  showNetwork,
  type WhoseNetwork,
} from "../../admin/network.ts";
import { toNetworkJson } from "../../domain/egress/policy.ts";
import type { Store } from "../../store/store.ts";
import { POLICY_VALUES } from "../api/sandboxes/bodies.ts";
import type { Hosts, Network, ProjectBounds, Totals } from "./api/network.ts";
import { ownAccount, ownProject } from "./authorize.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import type { SignedIn } from "./session.ts";

/** The whole bound is checked by `setNetwork`, which names the place of a mistake. */
const bound = z.looseObject({});
const totalsQuery = z.strictObject({
  from: z.string().max(10).optional(),
  to: z.string().max(10).optional(),
});
const hostsQuery = totalsQuery.extend({
  decision: z.enum(["allowed", "denied"]).optional(),
  after: z.string().max(500).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_HOSTS).default(100),
});

type Find = (store: Store, person: SignedIn, id: string) => Promise<WhoseNetwork>;

/**
 * The routes of accounts or of projects. @param find the owner with an id, if the person may see it.
 * @param changedBy who may change its bound: that of a project is within that of its account, which the operator sets.
 */
function routesOf(what: "accounts" | "projects", changedBy: "administrator" | "member", find: Find): DashboardRoute[] {
  const path = `/${what}/{id}/network` as const;
  return [
    dashboardRoute({
      method: "get",
      path,
      session: "member",
      handler:
        ({ dependencies: { store } }) =>
        async ({ person, path: { id } }): Promise<Network> =>
          await showNetwork(store, await find(store, person, id)),
    }),
    dashboardRoute({
      method: "put",
      path,
      session: changedBy,
      body: bound,
      config: { values: POLICY_VALUES },
      handler:
        ({ dependencies: { store } }) =>
        async ({ person, actor, path: { id }, body }): Promise<Network> => {
          const owner = await find(store, person, id);
          await setNetwork(store, owner, body, actor);
          return await showNetwork(store, owner);
        },
    }),
    dashboardRoute({
      method: "delete",
      path,
      session: changedBy,
      handler:
        ({ dependencies: { store } }) =>
        async ({ person, actor, path: { id } }): Promise<Network> => {
          const owner = await find(store, person, id);
          await clearNetwork(store, owner, actor);
          return await showNetwork(store, owner);
        },
    }),
    dashboardRoute({
      method: "get",
      path: `/${what}/{id}/hosts`,
      session: "member",
      query: hostsQuery,
      handler:
        ({ dependencies: { store } }) =>
        async ({ person, path: { id }, query: { limit, ...query } }): Promise<Hosts> => {
          const owner = await find(store, person, id);
          return await listHosts(store, { ...query, ...owner, max: limit }, Date.now());
        },
    }),
    dashboardRoute({
      method: "get",
      path: `/${what}/{id}/egress`,
      session: "member",
      query: totalsQuery,
      handler:
        ({ dependencies: { store } }) =>
        async ({ person, path: { id }, query }): Promise<Totals> =>
          await listTotals(store, { ...query, ...(await find(store, person, id)) }, Date.now()),
    }),
  ];
}

export const networkRoutes: readonly DashboardRoute[] = [
  ...routesOf("accounts", "administrator", async (store, person, id) => ({
    account: (await ownAccount(store, person, id)).id,
  })),
  ...routesOf("projects", "member", async (store, person, id) => ({
    project: (await ownProject(store, person, id)).id,
  })),
  dashboardRoute({
    method: "get",
    path: "/accounts/{id}/bounds",
    session: "member",
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, path: { id } }): Promise<ProjectBounds> => {
        const bounds = await store.egress.bounds([(await ownAccount(store, person, id)).id]);
        return bounds.flatMap(({ projectId, projectName, policy, version, changedAtMs }) =>
          projectId === null
            ? []
            : [
                {
                  project: { id: projectId, name: projectName ?? projectId },
                  policy: toNetworkJson(policy),
                  version,
                  changedAt: new Date(changedAtMs).toISOString(),
                },
              ],
        );
      },
  }),
];
