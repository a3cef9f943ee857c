import { listAccounts } from "../../admin/accounts.ts";
import { listTiers } from "../../admin/tiers.ts";
import { answer } from "./accounts.ts";
import type { Settings } from "./api/settings.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";

/** GET /dashboard/api/settings: settings of the whole service, with its tiers and accounts. */
export const settingsRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/settings",
    session: "administrator",
    handler:
      ({ dependencies: { store, retentionMs, maxPending } }) =>
      async (): Promise<Settings> => {
        const [tiers, accounts] = await Promise.all([listTiers(store), listAccounts(store)]);
        const used = new Map((await store.queue.shares(accounts.length)).accounts.map((share) => [share.id, share]));
        return {
          retentionMs,
          maxPending,
          tiers: tiers.map(({ name, requestsPerMinute, concurrency }) => ({ name, requestsPerMinute, concurrency })),
          accounts: accounts.map((account) => {
            const { pending = 0, running = 0, requests = 0 } = used.get(account.id) ?? {};
            return { ...answer(account), pending, running, requests };
          }),
        };
      },
  }),
];
