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
import { type DashboardRoute, dashboardRoute } from "./route.ts";

const newAccount = z.strictObject({ name: z.string(), tier: z.string() }) satisfies z.ZodType<NewAccount>;
const changes = z.strictObject({
  name: z.string().exactOptional(),
  tier: z.string().exactOptional(),
}) satisfies z.ZodType<AccountChanges>;

/** /dashboard/api/accounts: creates, changes, suspends and resumes accounts, and ends their pending submissions. */
export const accountRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "post",
    path: "/accounts",
    session: "administrator",
    body: newAccount,
    handler:
      ({ dependencies: { store } }) =>
      async ({ actor, body }): Promise<AccountResource> => {
        return answer(await createAccount(store, body, actor));
      },
  }),
  dashboardRoute({
    method: "patch",
    path: "/accounts/{id}",
    session: "administrator",
    body: changes,
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, actor, path, body }): Promise<AccountResource> => {
        const change = body;
        const { id } = await ownAccount(store, person, path.id);
        return answer(await updateAccount(store, id, change, actor));
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/accounts/{id}/suspend",
    session: "administrator",
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, actor, path }): Promise<AccountResource> => {
        const { id } = await ownAccount(store, person, path.id);
        return answer(await suspendAccount(store, id, actor));
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/accounts/{id}/resume",
    session: "administrator",
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, actor, path }): Promise<AccountResource> => {
        const { id } = await ownAccount(store, person, path.id);
        return answer(await resumeAccount(store, id, actor));
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/accounts/{id}/drop-pending",
    session: "administrator",
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, actor, path }): Promise<Dropped> => {
        const { id } = await ownAccount(store, person, path.id);
        const { dropped } = await dropPendingOf(store, id, actor);
        return { dropped };
      },
  }),
];

export function answer({ id, name, tier, createdAt, suspendedAt }: AccountView): AccountResource {
  return { id, name, tier, createdAt, suspendedAt };
}
