import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { createKey, revokeKey, rotateKey, updateKey } from "../../admin/keys.ts";
import { checkMembersKey, checkMembersRevoke, MEMBERS_KEYS } from "../../admin/member-keys.ts";
import { PROFILE_NAMES } from "../../domain/limits.ts";
import type { Store } from "../../store/store.ts";
import type { KeyLimits, KeyResource, Keys, MadeKey, NewKey, Rotation } from "./api/keys.ts";
import { idText, ownAccount, ownKey, ownProject } from "./authorize.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { keyOf, keyViews } from "./key-views.ts";
import { accountsFor, listed, pageOf } from "./pages.ts";
import { bodyOf, queryOf } from "./parse.ts";
import { actorOf, personOf, type SignedIn } from "./session.ts";

const KEYS = "/dashboard/api/keys";

const profile = z.enum(PROFILE_NAMES);
/** The schema checks only types. The functions of src/admin/ check the ranges, and that the profiles fit together. */
const limits = z.strictObject({
  requestsPerMinute: z.number().nullable().exactOptional(),
  concurrency: z.number().nullable().exactOptional(),
  profiles: z.array(profile).max(PROFILE_NAMES.length).exactOptional(),
  defaultProfile: profile.exactOptional(),
}) satisfies z.ZodType<Partial<KeyLimits>>;
const newKey = limits
  .extend({ name: z.string(), projectId: idText.exactOptional(), accountId: idText.exactOptional() })
  .refine(
    ({ projectId, accountId }) => (projectId === undefined) !== (accountId === undefined),
    "projectId or accountId",
  ) satisfies z.ZodType<NewKey>;
const rotation = z.strictObject({ overlapMs: z.number() }) satisfies z.ZodType<Rotation>;
const listQuery = listed.extend({
  project: idText.optional(),
  state: z.enum(["live", "any"]).default("any"),
  name: z.string().min(1).max(100).optional(),
});

interface ById {
  Params: { id: string };
}

/**
 * /dashboard/api/keys: lists, creates, changes, rotates and revokes keys. src/admin/member-keys.ts bounds what members may do.
 */
export function keyRoutes(server: FastifyInstance, { store }: DashboardDependencies): void {
  const config = { session: "member" } as const;

  server.get(KEYS, { config }, async (request): Promise<Keys> => {
    const person = personOf(request);
    const { account, project, state, name, before, limit } = queryOf(request, listQuery);
    const accountIds = accountsFor(person, account);
    if (project !== undefined) await ownProject(store, person, project);
    const asked = { accountIds, projectId: project, live: state === "live", name, after: before, max: limit + 1 };
    const { shown, next } = pageOf(await store.keys.list(asked), limit);
    return { keys: await keyViews(store, shown), next };
  });

  server.get<ById>(`${KEYS}/:id`, { config }, (request): Promise<KeyResource> => {
    return keyOf(store, personOf(request), request.params.id);
  });

  server.post(KEYS, { config }, async (request): Promise<MadeKey> => {
    const {
      name,
      projectId,
      accountId,
      requestsPerMinute,
      concurrency,
      profiles = ["judge"],
      defaultProfile,
    } = bodyOf(request, newKey);
    const person = personOf(request);
    const owner = await ownerOf(store, person, { projectId, accountId });
    const wanted = {
      requestsPerMinute: requestsPerMinute ?? undefined,
      concurrency: concurrency ?? undefined,
      profiles,
    };
    if (!person.administrator) await checkMembersKey(store, owner.accountId, wanted, null);
    const asked = { name, ...wanted, defaultProfile };
    const made = await createKey(store, { ...asked, ...owner.asked }, actorOf(request), bounds(person));
    return { key: await keyOf(store, person, made.id), secret: made.key };
  });

  server.patch<ById>(`${KEYS}/:id`, { config }, async (request): Promise<KeyResource> => {
    const update = bodyOf(request, limits);
    const person = personOf(request);
    const key = await ownKey(store, person, request.params.id);
    if (!person.administrator) await checkMembersKey(store, key.accountId, update, key);
    await updateKey(store, key.id, update, actorOf(request));
    return await keyOf(store, person, key.id);
  });

  server.post<ById>(`${KEYS}/:id/rotate`, { config }, async (request): Promise<MadeKey> => {
    const { overlapMs } = bodyOf(request, rotation);
    const person = personOf(request);
    const { id } = await ownKey(store, person, request.params.id);
    const { made } = await rotateKey(store, id, overlapMs, actorOf(request), bounds(person));
    return { key: await keyOf(store, person, made.id), secret: made.key };
  });

  server.post<ById>(`${KEYS}/:id/revoke`, { config }, async (request): Promise<KeyResource> => {
    const person = personOf(request);
    const key = await ownKey(store, person, request.params.id);
    if (!person.administrator) checkMembersRevoke(key);
    await revokeKey(store, key.id, actorOf(request));
    return await keyOf(store, person, key.id);
  });
}

/** Finds the account of a new key, by its project if the request names one. @throws ClientError notFound. */
async function ownerOf(
  store: Store,
  person: SignedIn,
  { projectId, accountId = "" }: { readonly [name in "projectId" | "accountId"]: string | undefined },
): Promise<{
  readonly accountId: string;
  readonly asked: { readonly project: string } | { readonly accountId: string };
}> {
  if (projectId !== undefined) {
    const project = await ownProject(store, person, projectId);
    return { accountId: project.accountId, asked: { project: project.id } };
  }
  const { id } = await ownAccount(store, person, accountId);
  return { accountId: id, asked: { accountId: id } };
}

function bounds({ administrator }: SignedIn) {
  return { bounds: administrator ? null : MEMBERS_KEYS };
}
