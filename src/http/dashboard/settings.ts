import type { FastifyInstance } from "fastify";
import { listAccounts } from "../../admin/accounts.ts";
import { listTiers } from "../../admin/tiers.ts";
import { answer } from "./accounts.ts";
import type { Settings } from "./api/settings.ts";
import type { DashboardDependencies } from "./dependencies.ts";

/** GET /dashboard/api/settings: settings of the whole service, with its tiers and accounts. */
export function settingsRoutes(
  server: FastifyInstance,
  { store, retentionMs, maxPending }: DashboardDependencies,
): void {
  server.get("/dashboard/api/settings", { config: { session: "administrator" } }, async (): Promise<Settings> => {
    const [tiers, accounts] = await Promise.all([listTiers(store), listAccounts(store)]);
    const used = new Map((await store.queue.shares(accounts.length)).accounts.map((share) => [share.id, share]));
    return {
      retentionMs,
      maxPending,
      tiers,
      accounts: accounts.map((account) => {
        const { pending = 0, running = 0, requests = 0 } = used.get(account.id) ?? {};
        return { ...answer(account), pending, running, requests };
      }),
    };
  });
}
