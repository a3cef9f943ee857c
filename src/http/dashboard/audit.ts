import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { auditView } from "../../admin/audit.ts";
import type { Audit } from "./api/audit.ts";
import { anId, ownAccount } from "./authorize.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { nextOf, place } from "./pages.ts";
import { queryOf } from "./parse.ts";
import { personOf } from "./session.ts";

const which = z.strictObject({
  account: anId.optional(),
  before: place.optional(),
  limit: z.coerce.number().int().min(1).max(500).default(100),
});

/** /dashboard/api/audit: the audit trail; for members, of their own accounts. */
export function auditRoutes(server: FastifyInstance, { store }: DashboardDependencies): void {
  server.get("/dashboard/api/audit", { config: { session: "member" } }, async (request): Promise<Audit> => {
    const { account, before, limit } = queryOf(request, which);
    const person = personOf(request);
    const accountIds = account === undefined ? person.accountIds : [(await ownAccount(store, person, account)).id];
    const found = await store.audit.list({ max: limit + 1, before, accountIds });
    const shown = found.slice(0, limit);
    return { entries: shown.map(auditView), next: nextOf(shown, found) };
  });
}
