import type { FastifyInstance } from "fastify";
import type { Node } from "./api/nodes.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { checkAnswers } from "./health.ts";
import { personOf } from "./session.ts";

/**
 * GET /dashboard/api/nodes: the workers, which all accounts share. For a member, `running` counts only the runs of own accounts.
 */
export function nodeRoutes(server: FastifyInstance, { store, nodes, languages }: DashboardDependencies): void {
  server.get("/dashboard/api/nodes", { config: { session: "member" } }, async (request): Promise<Node[]> => {
    const { accountIds, administrator } = personOf(request);
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
  });
}
