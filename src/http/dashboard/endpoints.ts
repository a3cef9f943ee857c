import type { FastifyInstance } from "fastify";
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
import type { DashboardDependencies } from "./dependencies.ts";
import { accountsFor, listed, pageOf } from "./pages.ts";
import { bodyOf, queryOf } from "./parse.ts";
import { REPLAY_BOUNDS, takeSend } from "./send-limits.ts";
import { actorOf, personOf, type SignedIn } from "./session.ts";

const ENDPOINTS = "/dashboard/api/endpoints";

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

interface ById {
  Params: { id: string };
}

/** /dashboard/api/endpoints: the receivers of results. */
export function endpointRoutes(server: FastifyInstance, d: DashboardDependencies): void {
  const { store, sealer, checkUrl, sendTest } = d;
  const config = { session: "member" } as const;

  server.get(ENDPOINTS, { config }, async (request): Promise<Endpoints> => {
    const person = personOf(request);
    const { account, project, before, limit } = queryOf(request, listQuery);
    const accountIds = accountsFor(person, account);
    if (project !== undefined) await ownProject(store, person, project);
    const asked = { accountIds, projectId: project, after: before, max: limit + 1 };
    const { shown, next } = pageOf(await store.endpoints.list(asked), limit);
    return { endpoints: await answers(store, shown), next };
  });

  server.get(`${ENDPOINTS}/failing`, { config }, async (request): Promise<Failing> => {
    const found = await store.endpoints.failing(personOf(request).accountIds, MAX_FAILING + 1);
    return { endpoints: await answers(store, found.slice(0, MAX_FAILING)), more: found.length > MAX_FAILING };
  });

  server.get<ById>(`${ENDPOINTS}/:id`, { config }, (request): Promise<Endpoint> => {
    return endpointOf(store, personOf(request), request.params.id);
  });

  server.post(ENDPOINTS, { config }, async (request): Promise<MadeEndpoint> => {
    const { projectId, ...asked } = bodyOf(request, newEndpoint);
    const person = personOf(request);
    const project = await ownProject(store, person, projectId);
    const needs = { store, sealer, checkUrl };
    const bounds = { aDay: person.administrator ? null : MEMBERS_ENDPOINTS_A_DAY };
    const { made, caution } = await createEndpoint(needs, { ...asked, project: project.id }, actorOf(request), bounds);
    return { endpoint: await endpointOf(store, person, made.id), secret: made.secret, caution, formerEndsAt: null };
  });

  server.patch<ById>(`${ENDPOINTS}/:id`, { config }, async (request): Promise<Endpoint> => {
    const { active, signing: form } = bodyOf(request, changes);
    const person = personOf(request);
    const { id } = await ownEndpoint(store, person, request.params.id);
    if (active !== undefined) await setEndpointActive(store, id, active, actorOf(request));
    if (form !== undefined) await setEndpointSigning(store, id, form, actorOf(request));
    return await endpointOf(store, person, id);
  });

  server.post<ById>(`${ENDPOINTS}/:id/rotate-secret`, { config }, async (request): Promise<MadeEndpoint> => {
    const { overlapMs } = bodyOf(request, rotation);
    const person = personOf(request);
    const { id } = await ownEndpoint(store, person, request.params.id);
    const needs = { store, sealer };
    const { secret, formerEndsAt } = await rotateEndpointSecret(needs, id, overlapMs, actorOf(request));
    return { endpoint: await endpointOf(store, person, id), secret, caution: null, formerEndsAt };
  });

  server.delete<ById>(`${ENDPOINTS}/:id`, { config }, async (request, reply) => {
    const person = personOf(request);
    const { id } = await ownEndpoint(store, person, request.params.id);
    await removeEndpoint(store, id, actorOf(request));
    return reply.code(204).send();
  });

  server.post<ById>(`${ENDPOINTS}/:id/test`, { config }, async (request): Promise<DeliveryResource> => {
    const person = personOf(request);
    const { id, accountId } = await ownEndpoint(store, person, request.params.id);
    await takeSend(store, "tests", accountId);
    return deliveryAnswer(await testEndpoint(sendTest, id, actorOf(request)));
  });

  server.post<ById>(`${ENDPOINTS}/:id/replay-failed`, { config }, async (request): Promise<Replayed> => {
    const { since, until } = bodyOf(request, replays);
    const person = personOf(request);
    const { id, accountId } = await ownEndpoint(store, person, request.params.id);
    await takeSend(store, "replays", accountId);
    return await replayFailed(
      store,
      { endpointId: id, since, until, onlyIdle: true, bounds: REPLAY_BOUNDS },
      actorOf(request),
    );
  });
}

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
