import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import type { Account, ApiKey, Project } from "../../store/access/types.ts";
import type { Endpoint } from "../../store/deliveries/types.ts";
import type { Store } from "../../store/store.ts";
import { maySee, type SignedIn } from "./session.ts";

/**
 * Lookups by id with authorization. An id of another account gets `notFound`, like an unknown id, so that a response
 * does not reveal which ids exist.
 */

/** The form of an id; nothing else reaches the database. */
export const idText = z.string().regex(/^[\w-]{1,100}$/, "is not an id");

export async function ownAccount(store: Store, person: SignedIn, id: string): Promise<Account> {
  const [account] = await store.accounts.list([id]);
  return visible(account && { ...account, accountId: account.id }, person);
}

export async function ownProject(store: Store, person: SignedIn, id: string): Promise<Project> {
  return visible(await store.projects.get(id), person);
}

export async function ownKey(store: Store, person: SignedIn, id: string): Promise<ApiKey> {
  return visible(await store.keys.get(id), person);
}

export async function ownEndpoint(
  store: Store,
  person: SignedIn,
  id: string,
): Promise<Endpoint & { accountId: string }> {
  const endpoint = await store.endpoints.get(id);
  const project = endpoint && (await store.projects.get(endpoint.projectId));
  return visible(endpoint && project && { ...endpoint, accountId: project.accountId }, person);
}

/** @throws ClientError notFound. */
function visible<Thing extends { readonly accountId: string }>(thing: Thing | undefined, person: SignedIn): Thing {
  if (!thing || !maySee(person, thing.accountId)) throw clientError("notFound", []);
  return thing;
}
