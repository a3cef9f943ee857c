import { randomUUID } from "node:crypto";
import type { AuditActor } from "../domain/audit.ts";
import type { Sealer } from "../domain/sealer.ts";
import { newWebhookSecret, type Signing } from "../domain/webhook.ts";
import type { Endpoint } from "../store/deliveries/types.ts";
import type { Store } from "../store/store.ts";
import { AdminError } from "./error.ts";
import { type ListedPart, partFor } from "./pagination.ts";
import { archived, findOpenProject, findProject } from "./projects.ts";
import { checkOverlap } from "./rules.ts";

/** The most endpoints of a project. Each result is sent to every endpoint, so this also bounds the deliveries of a result. */
const MAX_ENDPOINTS = 10;

/**
 * Endpoints that members may add to an account in 24 hours, including removed ones. The rows of removed endpoints stay for their
 * deliveries, so repeated adding and removing would fill the database. Administrators may add more.
 */
export const MEMBERS_ENDPOINTS_A_DAY = 100;

/** The most former secrets of an endpoint that are still valid. Each of them adds a signature to every delivery. */
const MAX_FORMER_SECRETS = 3;

/** What the changes of endpoints need. Callers pass it, because `src/admin/` does not import `src/webhooks/`. */
export interface EndpointDependencies {
  readonly store: Store;
  readonly sealer: Sealer;
  /**
   * @returns a warning about the URL, or null.
   * @throws with a message for the person who configures it, if the URL is invalid or not allowed.
   */
  readonly checkUrl: (url: string) => Promise<string | null>;
}

export interface NewEndpoint {
  /** Name or id of the project. */
  readonly project: string;
  readonly url: string;
  readonly signing?: Signing | undefined;
}

export interface EndpointView {
  readonly id: string;
  readonly url: string;
  readonly project: string;
  readonly projectId: string;
  readonly signing: Signing;
  readonly active: boolean;
  readonly createdAt: string;
}

/** `secret` is returned only once. */
export interface MadeEndpoint extends EndpointView {
  readonly secret: string;
}

/**
 * Creates an active endpoint.
 * @param aDay the most endpoints that the account may have made in the last 24 hours; null for no limit.
 * @returns the endpoint, and a warning about its URL; null for no warning.
 * @throws AdminError if the project is unknown, archived or has too many endpoints, or the account has made too many; the
 * error of `checkUrl` if the URL is not allowed.
 */
export async function createEndpoint(
  { store, sealer, checkUrl }: EndpointDependencies,
  request: NewEndpoint,
  actor: AuditActor,
  { aDay = null }: { readonly aDay?: number | null } = {},
): Promise<{ readonly made: MadeEndpoint; readonly caution: string | null }> {
  const project = await findOpenProject(store, request.project);
  const { url, signing = "standard" } = request;
  const caution = await checkUrl(url);
  const id = randomUUID();
  const secret = newWebhookSecret();
  const endpoint = { id, projectId: project.id, url, seal: () => sealer.seal(id, secret), signing };
  const result = await store.endpoints.add(endpoint, MAX_ENDPOINTS, actor, aDay);
  if (result === "spent") {
    throw new AdminError(
      `the account made ${aDay} endpoints in the last 24 hours, the maximum without an administrator`,
    );
  }
  if (result === "full")
    throw new AdminError(`the project ${project.name} has ${MAX_ENDPOINTS} endpoints, the maximum`);
  if (result === "no-project") throw archived(project.name);
  return { made: { ...(await viewOf(store, id)), secret }, caution };
}

/**
 * A page of endpoints, newest first, optionally of one project.
 * @throws AdminError if the project, account or endpoint is unknown.
 */
export async function listEndpoints(
  store: Store,
  { project, ...which }: ListedPart & { readonly project?: string | undefined } = {},
): Promise<EndpointView[]> {
  const projectId = project === undefined ? undefined : (await findProject(store, project, which.account)).id;
  const part = await partFor(store, which, async (id) => {
    const endpoint = await store.endpoints.get(id);
    const project = endpoint && (await store.projects.get(endpoint.projectId));
    return project && [project.accountId];
  });
  return await Promise.all(
    (await store.endpoints.list({ ...part, projectId })).map((endpoint) => view(store, endpoint)),
  );
}

/** Enables or disables an endpoint. @throws AdminError if the id is unknown, as the functions below do. */
export async function setEndpointActive(
  store: Store,
  id: string,
  active: boolean,
  actor: AuditActor,
): Promise<EndpointView> {
  return await changed(store, id, await store.endpoints.setActive(id, active, actor));
}

export async function setEndpointSigning(
  store: Store,
  id: string,
  signing: Signing,
  actor: AuditActor,
): Promise<EndpointView> {
  return await changed(store, id, await store.endpoints.setSigning(id, signing, actor));
}

/**
 * Replaces the secret. During the overlap, deliveries are signed with the new and the old secrets, so receivers with any of them
 * accept the deliveries. An overlap of 0 ends all old secrets at once.
 * @returns the endpoint with its new secret, and the time at which the old secret ends.
 * @throws AdminError if the overlap is too long, or three old secrets are still valid.
 */
export async function rotateEndpointSecret(
  { store, sealer }: Pick<EndpointDependencies, "store" | "sealer">,
  id: string,
  overlapMs: number,
  actor: AuditActor,
): Promise<MadeEndpoint & { readonly formerEndsAt: string }> {
  checkOverlap(overlapMs);
  const endpoint = await store.endpoints.get(id);
  if (!endpoint) throw noSuchEndpoint(id);
  if (overlapMs > 0) checkOpens(sealer, endpoint);
  const secret = newWebhookSecret();
  const overlap = { overlapMs, mostFormer: MAX_FORMER_SECRETS };
  const endsAtMs = await store.endpoints.setSecret(id, () => sealer.seal(id, secret), overlap, actor);
  if (endsAtMs === undefined) throw noSuchEndpoint(id);
  if (endsAtMs === "full") {
    throw new AdminError(
      `${MAX_FORMER_SECRETS} old secrets of the endpoint are still valid, the maximum; rotate without an overlap to end them now`,
    );
  }
  return { ...(await viewOf(store, id)), secret, formerEndsAt: new Date(endsAtMs).toISOString() };
}

/** @throws AdminError if the present secret cannot be decrypted: every delivery of the overlap would then fail. */
function checkOpens(sealer: Sealer, { id, secret }: Pick<Endpoint, "id" | "secret">): void {
  try {
    sealer.open(id, secret);
  } catch (error) {
    throw new AdminError(`${(error as Error).message}; rotate without an overlap`);
  }
}

/** Removes an endpoint; its deliveries stay on record. */
export async function removeEndpoint(store: Store, id: string, actor: AuditActor): Promise<void> {
  if (!(await store.endpoints.remove(id, actor))) throw noSuchEndpoint(id);
}

async function changed(store: Store, id: string, done: boolean): Promise<EndpointView> {
  if (!done) throw noSuchEndpoint(id);
  return await viewOf(store, id);
}

async function viewOf(store: Store, id: string): Promise<EndpointView> {
  const endpoint = await store.endpoints.get(id);
  if (!endpoint) throw noSuchEndpoint(id);
  return await view(store, endpoint);
}

export function noSuchEndpoint(id: string): AdminError {
  return new AdminError(`there is no webhook endpoint ${id}`);
}

async function view(
  store: Store,
  { id, url, projectId, signing, active, createdAtMs }: Endpoint,
): Promise<EndpointView> {
  const project = (await store.projects.get(projectId))?.name ?? projectId;
  return { id, url, project, projectId, signing, active, createdAt: new Date(createdAtMs).toISOString() };
}
