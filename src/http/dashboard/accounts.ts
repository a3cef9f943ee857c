import type { FastifyInstance } from "fastify";
import { z } from "zod";
import {
  type AccountView,
  createAccount,
  dropPendingOf,
  resumeAccount,
  suspendAccount,
  updateAccount,
} from "../../admin/accounts.ts";
import type { AccountChanges, AccountResource, Dropped, NewAccount } from "./api/settings.ts";
import { ownAccount } from "./authorize.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { bodyOf } from "./parse.ts";
import { actorOf, personOf } from "./session.ts";

const ACCOUNTS = "/dashboard/api/accounts";

const newAccount = z.strictObject({ name: z.string(), tier: z.string() }) satisfies z.ZodType<NewAccount>;
const changes = z.strictObject({
  name: z.string().exactOptional(),
  tier: z.string().exactOptional(),
}) satisfies z.ZodType<AccountChanges>;

interface ById {
  Params: { id: string };
}

/** /dashboard/api/accounts: creates, changes, suspends and resumes accounts, and ends their pending submissions. */
export function accountRoutes(server: FastifyInstance, { store }: DashboardDependencies): void {
  const config = { session: "administrator" } as const;

  server.post(ACCOUNTS, { config }, async (request): Promise<AccountResource> => {
    return answer(await createAccount(store, bodyOf(request, newAccount), actorOf(request)));
  });

  server.patch<ById>(`${ACCOUNTS}/:id`, { config }, async (request): Promise<AccountResource> => {
    const change = bodyOf(request, changes);
    const person = personOf(request);
    const { id } = await ownAccount(store, person, request.params.id);
    return answer(await updateAccount(store, id, change, actorOf(request)));
  });

  server.post<ById>(`${ACCOUNTS}/:id/suspend`, { config }, async (request): Promise<AccountResource> => {
    const person = personOf(request);
    const { id } = await ownAccount(store, person, request.params.id);
    return answer(await suspendAccount(store, id, actorOf(request)));
  });

  server.post<ById>(`${ACCOUNTS}/:id/resume`, { config }, async (request): Promise<AccountResource> => {
    const person = personOf(request);
    const { id } = await ownAccount(store, person, request.params.id);
    return answer(await resumeAccount(store, id, actorOf(request)));
  });

  server.post<ById>(`${ACCOUNTS}/:id/drop-pending`, { config }, async (request): Promise<Dropped> => {
    const person = personOf(request);
    const { id } = await ownAccount(store, person, request.params.id);
    const { dropped } = await dropPendingOf(store, id, actorOf(request));
    return { dropped };
  });
}

export function answer({ id, name, tier, createdAt, suspendedAt }: AccountView): AccountResource {
  return { id, name, tier, createdAt, suspendedAt };
}
