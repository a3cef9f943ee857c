import { z } from "zod";
import { replayFailed, testEndpoint } from "../../admin/deliveries.ts";
import {
  createEndpoint,
  MEMBERS_ENDPOINTS_A_DAY,
  removeEndpoint,
  rotateEndpointSecret,
  setEndpointActive,
  setEndpointSigning,
} from "../../admin/endpoints.ts";
import { clientError } from "../../domain/error.ts";
import { SIGNINGS } from "../../domain/webhook.ts";
import type * as stored from "../../store/deliveries/types.ts";
import type { Store } from "../../store/store.ts";
import type { DeliveryResource } from "./api/deliveries.ts";
import type {
  Endpoint,
  EndpointChanges,
  Endpoints,
  Failing,
  MadeEndpoint,
  NewEndpoint,
  Replayed,
  Replays,
} from "./api/endpoints.ts";
import type { Rotation } from "./api/keys.ts";
import { idText, ownEndpoint, ownProject } from "./authorize.ts";
import { deliveryAnswer } from "./deliveries.ts";
import { accountsFor, listed, pageOf } from "./pagination.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import { REPLAY_BOUNDS, takeSend } from "./send-limits.ts";
import type { SignedIn } from "./session.ts";

const signing = z.enum(SIGNINGS);
/** `checkUrl` rejects invalid URLs and addresses that are not allowed; the schema bounds only the text. */
const url = z
  .string()
  .max(2_000)
  .regex(/^\P{C}*$/u, "has unprintable characters");
const newEndpoint = z.strictObject({
  projectId: idText,
  url,
  signing: signing.exactOptional(),
}) satisfies z.ZodType<NewEndpoint>;
const changes = z.strictObject({
  active: z.boolean().exactOptional(),
  signing: signing.exactOptional(),
}) satisfies z.ZodType<EndpointChanges>;
const time = z.iso.datetime();
const replays = z.strictObject({
  since: time.exactOptional(),
  until: time.exactOptional(),
}) satisfies z.ZodType<Replays>;
const rotation = z.strictObject({ overlapMs: z.number() }) satisfies z.ZodType<Rotation>;
/** The most endpoints in the list of failing endpoints. */
const MAX_FAILING = 20;

const listQuery = listed.extend({ project: idText.optional() });

/** /dashboard/api/endpoints: the receivers of results. */
export const endpointRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/endpoints",
    session: "member",
    query: listQuery,
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, query: { account, project, before, limit } }): Promise<Endpoints> => {
        const accountIds = accountsFor(person, account);
        if (project !== undefined) await ownProject(store, person, project);
        const asked = { accountIds, projectId: project, after: before, max: limit + 1 };
        const { shown, next } = pageOf(await store.endpoints.list(asked), limit);
        return { endpoints: await answers(store, shown), next };
      },
  }),
  dashboardRoute({
    method: "get",
    path: "/endpoints/failing",
    session: "member",
    handler:
      ({ dependencies: { store } }) =>
      async ({ person }): Promise<Failing> => {
        const found = await store.endpoints.failing(person.accountIds, MAX_FAILING + 1);
        return { endpoints: await answers(store, found.slice(0, MAX_FAILING)), more: found.length > MAX_FAILING };
      },
  }),
  dashboardRoute({
    method: "get",
    path: "/endpoints/{id}",
    session: "member",
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, path: { id } }): Promise<Endpoint> => {
        return endpointOf(store, person, id);
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/endpoints",
    session: "member",
    body: newEndpoint,
    handler:
      ({ dependencies: { store, sealer, checkUrl } }) =>
      async ({ person, actor, body: { projectId, ...asked } }): Promise<MadeEndpoint> => {
        const project = await ownProject(store, person, projectId);
        const needs = { store, sealer, checkUrl };
        const bounds = { aDay: person.administrator ? null : MEMBERS_ENDPOINTS_A_DAY };
        const { made, caution } = await createEndpoint(needs, { ...asked, project: project.id }, actor, bounds);
        return { endpoint: await endpointOf(store, person, made.id), secret: made.secret, caution, formerEndsAt: null };
      },
  }),
  dashboardRoute({
    method: "patch",
    path: "/endpoints/{id}",
    session: "member",
    body: changes,
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, actor, path, body: { active, signing: form } }): Promise<Endpoint> => {
        const { id } = await ownEndpoint(store, person, path.id);
        if (active !== undefined) await setEndpointActive(store, id, active, actor);
        if (form !== undefined) await setEndpointSigning(store, id, form, actor);
        return await endpointOf(store, person, id);
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/endpoints/{id}/rotate-secret",
    session: "member",
    body: rotation,
    handler:
      ({ dependencies: { store, sealer } }) =>
      async ({ person, actor, path, body: { overlapMs } }): Promise<MadeEndpoint> => {
        const { id } = await ownEndpoint(store, person, path.id);
        const needs = { store, sealer };
        const { secret, formerEndsAt } = await rotateEndpointSecret(needs, id, overlapMs, actor);
        return { endpoint: await endpointOf(store, person, id), secret, caution: null, formerEndsAt };
      },
  }),
  dashboardRoute({
    method: "delete",
    path: "/endpoints/{id}",
    session: "member",
    handler:
      ({ dependencies: { store } }) =>
      async ({ reply, person, actor, path }) => {
        const { id } = await ownEndpoint(store, person, path.id);
        await removeEndpoint(store, id, actor);
        return reply.code(204).send();
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/endpoints/{id}/test",
    session: "member",
    handler:
      ({ dependencies: { store, sendTest } }) =>
      async ({ person, actor, path }): Promise<DeliveryResource> => {
        const { id, accountId } = await ownEndpoint(store, person, path.id);
        await takeSend(store, "tests", accountId);
        return deliveryAnswer(await testEndpoint(sendTest, id, actor));
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/endpoints/{id}/replay-failed",
    session: "member",
    body: replays,
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, actor, path, body: { since, until } }): Promise<Replayed> => {
        const { id, accountId } = await ownEndpoint(store, person, path.id);
        await takeSend(store, "replays", accountId);
        return await replayFailed(
          store,
          { endpointId: id, since, until, onlyIdle: true, bounds: REPLAY_BOUNDS },
          actor,
        );
      },
  }),
];

async function endpointOf(store: Store, person: SignedIn, id: string): Promise<Endpoint> {
  const [endpoint] = await answers(store, [await ownEndpoint(store, person, id)]);
  if (!endpoint) throw clientError("notFound", []);
  return endpoint;
}

async function answers(store: Store, endpoints: readonly stored.Endpoint[]): Promise<Endpoint[]> {
  const [projects, recent] = await Promise.all([
    Promise.all([...new Set(endpoints.map(({ projectId }) => projectId))].map((id) => store.projects.get(id))),
    store.deliveries.recent(endpoints.map(({ id }) => id)),
  ]);
  const owners = new Map(projects.map((project) => [project?.id, project]));
  return endpoints.flatMap((endpoint): Endpoint[] => {
    const { id, active, createdAtMs, failingSinceMs } = endpoint;
    const owner = owners.get(endpoint.projectId);
    if (!owner) return [];
    return [
      {
        id,
        url: endpoint.url,
        project: { id: owner.id, name: owner.name },
        account: { id: owner.accountId, name: owner.accountName },
        signing: endpoint.signing,
        active,
        createdAt: new Date(createdAtMs).toISOString(),
        failingSince: active && failingSinceMs !== null ? new Date(failingSinceMs).toISOString() : null,
        recent: recent.get(id) ?? { delivered: 0, failed: 0, pending: 0 },
      },
    ];
  });
}
