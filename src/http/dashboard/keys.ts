import { z } from "zod";
import { createKey, revokeKey, rotateKey, updateKey } from "../../admin/keys.ts";
import { checkMembersKey, checkMembersRevoke, MEMBERS_KEYS } from "../../admin/member-keys.ts";
import { PROFILE_NAMES } from "../../domain/limits.ts";
import type { Store } from "../../store/store.ts";
import type { KeyLimits, KeyResource, Keys, MadeKey, NewKey, Rotation } from "./api/keys.ts";
import { idText, ownAccount, ownKey, ownProject } from "./authorize.ts";
import { keyOf, keyViews } from "./key-views.ts";
import { accountsFor, listed, pageOf } from "./pagination.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import type { SignedIn } from "./session.ts";

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
  profile: profile.optional(),
});

/**
 * /dashboard/api/keys: lists, creates, changes, rotates and revokes keys. src/admin/member-keys.ts bounds what members may do.
 */
export const keyRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/keys",
    session: "member",
    query: listQuery,
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, query: { account, project, state, name, profile, before, limit } }): Promise<Keys> => {
        const accountIds = accountsFor(person, account);
        if (project !== undefined) await ownProject(store, person, project);
        const which = { accountIds, projectId: project, live: state === "live", name, profile };
        const asked = { ...which, after: before, max: limit + 1 };
        const { shown, next } = pageOf(await store.keys.list(asked), limit);
        return { keys: await keyViews(store, shown), next };
      },
  }),
  dashboardRoute({
    method: "get",
    path: "/keys/{id}",
    session: "member",
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, path: { id } }): Promise<KeyResource> => {
        return keyOf(store, person, id);
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/keys",
    session: "member",
    body: newKey,
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, actor, body }): Promise<MadeKey> => {
        const {
          name,
          projectId,
          accountId,
          requestsPerMinute,
          concurrency,
          profiles = ["judge"],
          defaultProfile,
        } = body;
        const owner = await ownerOf(store, person, { projectId, accountId });
        const wanted = {
          requestsPerMinute: requestsPerMinute ?? undefined,
          concurrency: concurrency ?? undefined,
          profiles,
        };
        if (!person.administrator) await checkMembersKey(store, owner.accountId, wanted, null);
        const asked = { name, ...wanted, defaultProfile };
        const made = await createKey(store, { ...asked, ...owner.asked }, actor, bounds(person));
        return { key: await keyOf(store, person, made.id), secret: made.key };
      },
  }),
  dashboardRoute({
    method: "patch",
    path: "/keys/{id}",
    session: "member",
    body: limits,
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, actor, path: { id }, body: update }): Promise<KeyResource> => {
        const key = await ownKey(store, person, id);
        if (!person.administrator) await checkMembersKey(store, key.accountId, update, key);
        await updateKey(store, key.id, update, actor);
        return await keyOf(store, person, key.id);
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/keys/{id}/rotate",
    session: "member",
    body: rotation,
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, actor, path, body: { overlapMs } }): Promise<MadeKey> => {
        const { id } = await ownKey(store, person, path.id);
        const { made } = await rotateKey(store, id, overlapMs, actor, bounds(person));
        return { key: await keyOf(store, person, made.id), secret: made.key };
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/keys/{id}/revoke",
    session: "member",
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, actor, path: { id } }): Promise<KeyResource> => {
        const key = await ownKey(store, person, id);
        if (!person.administrator) checkMembersRevoke(key);
        await revokeKey(store, key.id, actor);
        return await keyOf(store, person, key.id);
      },
  }),
];

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
