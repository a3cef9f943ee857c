import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { type AccountView, createAccount, updateAccount } from "../../admin/accounts.ts";
import type { Account, AccountChanges, NewAccount } from "./answers.ts";
import { bodyOf } from "./asked.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { ownAccount } from "./own.ts";
import { personOf } from "./session.ts";

const ACCOUNTS = "/dashboard/api/accounts";

const newAccount = z.strictObject({ name: z.string(), tier: z.string() }) satisfies z.ZodType<NewAccount>;
const changes = z.strictObject({
  name: z.string().exactOptional(),
  tier: z.string().exactOptional(),
}) satisfies z.ZodType<AccountChanges>;

/** /dashboard/api/accounts: whose the projects, keys and records are. */
export function accountRoutes(server: FastifyInstance, { store }: DashboardDependencies): void {
  const config = { session: "administrator" } as const;

  server.post(ACCOUNTS, { config }, async (request): Promise<Account> => {
    return answer(await createAccount(store, bodyOf(request, newAccount), personOf(request).email));
  });

  server.patch<{ Params: { id: string } }>(`${ACCOUNTS}/:id`, { config }, async (request): Promise<Account> => {
    const change = bodyOf(request, changes);
    const person = personOf(request);
    const { id } = await ownAccount(store, person, request.params.id);
    return answer(await updateAccount(store, id, change, person.email));
  });
}

function answer({ id, name, tier, createdAt }: AccountView): Account {
  return { id, name, tier, createdAt };
}
