import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { setTier } from "../../admin/tiers.ts";
import type { Tier } from "./api/settings.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { bodyOf } from "./parse.ts";
import { actorOf } from "./session.ts";

const limits = z.strictObject({ requestsPerMinute: z.number(), concurrency: z.number() });

/** PUT /dashboard/api/tiers/:name: creates a tier, or changes its limits for all accounts that have it. */
export function tierRoutes(server: FastifyInstance, { store }: DashboardDependencies): void {
  const config = { session: "administrator" } as const;

  server.put<{ Params: { name: string } }>("/dashboard/api/tiers/:name", { config }, (request): Promise<Tier> => {
    const tier = { name: request.params.name, ...bodyOf(request, limits) };
    return setTier(store, tier, actorOf(request));
  });
}
