import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import type { Account, ApiKey, Endpoint, Project } from "../../store/admin-port.ts";
import type { Store } from "../../store/port.ts";
import { maySee, type SignedIn } from "./session.ts";

/**
 * Things by their id, for who may see them. What another account has is `notThere`, exactly as what nobody has: an answer must not
 * say which ids exist.
 */

/** What an id can be, so that nothing else reaches the database. */
export const anId = z.string().regex(/^[\w-]{1,100}$/, "is no id");

export async function ownAccount(store: Store, person: SignedIn, id: string): Promise<Account> {
  return theOne(
    (await store.accounts.list()).map((account) => ({ ...account, accountId: account.id })),
    person,
    id,
  );
}

export async function ownProject(store: Store, person: SignedIn, id: string): Promise<Project> {
  return theOne(await store.projects.list(), person, id);
}

export async function ownKey(store: Store, person: SignedIn, id: string): Promise<ApiKey> {
  return theOne(await store.keys.list(), person, id);
}

export async function ownEndpoint(
  store: Store,
  person: SignedIn,
  id: string,
): Promise<Endpoint & { accountId: string }> {
  const projects = new Map((await store.projects.list()).map((project) => [project.id, project.accountId]));
  const endpoints = (await store.endpoints.list()).map((endpoint) => {
    return { ...endpoint, accountId: projects.get(endpoint.projectId) ?? "" };
  });
  return theOne(endpoints, person, id);
}

/** @throws ClientError notThere. */
function theOne<Thing extends { readonly id: string; readonly accountId: string }>(
  all: readonly Thing[],
  person: SignedIn,
  id: string,
): Thing {
  const thing = all.find((one) => one.id === id && maySee(person, one.accountId));
  if (!thing) throw clientError("notThere", []);
  return thing;
}
