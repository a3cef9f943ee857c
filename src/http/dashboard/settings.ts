import type { FastifyInstance } from "fastify";
import { listAccounts } from "../../admin/accounts.ts";
import { listTiers } from "../../admin/tiers.ts";
import type { Settings } from "./answers.ts";
import type { DashboardDependencies } from "./dependencies.ts";

/** /dashboard/api/settings: what holds for the whole service. */
export function settingsRoutes(
  server: FastifyInstance,
  { store, retentionMs, maxPending }: DashboardDependencies,
): void {
  server.get("/dashboard/api/settings", { config: { session: "administrator" } }, async (): Promise<Settings> => {
    const [tiers, accounts] = await Promise.all([listTiers(store), listAccounts(store)]);
    return {
      retentionMs,
      maxPending,
      tiers,
      accounts: accounts.map(({ id, name, tier, createdAt }) => ({ id, name, tier, createdAt })),
    };
  });
}
