import type { FastifyInstance } from "fastify";
import { z } from "zod";
import {
  archiveProject,
  createProject,
  MEMBERS_PROJECTS,
  renameProject,
  restoreProject,
} from "../../admin/projects.ts";
import { clientError } from "../../domain/error.ts";
import type * as stored from "../../store/access/types.ts";
import type { Store } from "../../store/store.ts";
import type { NewProject, Project, ProjectChanges, Projects } from "./api/projects.ts";
import { idText, ownAccount, ownProject } from "./authorize.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { accountsFor, listed, pageOf } from "./pages.ts";
import { bodyOf, queryOf } from "./parse.ts";
import { actorOf, personOf, type SignedIn } from "./session.ts";

const PROJECTS = "/dashboard/api/projects";

const newProject = z.strictObject({ name: z.string(), accountId: idText }) satisfies z.ZodType<NewProject>;
const changes = z
  .strictObject({ name: z.string().exactOptional(), archived: z.boolean().exactOptional() })
  // Each of the two changes can be rejected, and a request must not take effect only in part.
  .refine(
    ({ name, archived }) => (name === undefined) !== (archived === undefined),
    "name or archived, one at a time",
  ) satisfies z.ZodType<ProjectChanges>;

const listQuery = listed.extend({ state: z.enum(["open", "any"]).default("any") });

interface ById {
  Params: { id: string };
}

/** /dashboard/api/projects: lists, creates, renames, archives and restores projects. Members may do all of this in their accounts. */
export function projectRoutes(server: FastifyInstance, { store }: DashboardDependencies): void {
  const config = { session: "member" } as const;

  server.get(PROJECTS, { config }, async (request): Promise<Projects> => {
    const { account, state, before, limit } = queryOf(request, listQuery);
    const accountIds = accountsFor(personOf(request), account);
    const asked = { accountIds, open: state === "open", after: before, max: limit + 1 };
    const { shown, next } = pageOf(await store.projects.list(asked), limit);
    return { projects: await answers(store, shown), next };
  });

  server.get<ById>(`${PROJECTS}/:id`, { config }, (request): Promise<Project> => {
    return projectOf(store, personOf(request), request.params.id);
  });

  server.post(PROJECTS, { config }, async (request): Promise<Project> => {
    const { name, accountId } = bodyOf(request, newProject);
    const person = personOf(request);
    const account = await ownAccount(store, person, accountId);
    const most = person.administrator ? null : MEMBERS_PROJECTS;
    const { id } = await createProject(store, { name, accountId: account.id }, actorOf(request), { most });
    return await projectOf(store, person, id);
  });

  server.patch<ById>(`${PROJECTS}/:id`, { config }, async (request): Promise<Project> => {
    const { name, archived } = bodyOf(request, changes);
    const person = personOf(request);
    const { id } = await ownProject(store, person, request.params.id);
    if (name !== undefined) await renameProject(store, id, name, actorOf(request));
    else if (archived) await archiveProject(store, id, actorOf(request));
    else await restoreProject(store, id, actorOf(request));
    return await projectOf(store, person, id);
  });
}

async function projectOf(store: Store, person: SignedIn, id: string): Promise<Project> {
  const [project] = await answers(store, [await ownProject(store, person, id)]);
  if (!project) throw clientError("notFound", []);
  return project;
}

async function answers(store: Store, projects: readonly stored.Project[]): Promise<Project[]> {
  const ids = projects.map(({ id }) => id);
  const [liveKeys, endpoints] = await Promise.all([store.keys.countLive(ids), store.endpoints.count(ids)]);
  return projects.map(({ id, name, accountId, accountName, createdAtMs, archivedAtMs }) => ({
    id,
    name,
    account: { id: accountId, name: accountName },
    createdAt: new Date(createdAtMs).toISOString(),
    archivedAt: archivedAtMs === null ? null : new Date(archivedAtMs).toISOString(),
    liveKeys: liveKeys.get(id) ?? 0,
    endpoints: endpoints.get(id) ?? 0,
  }));
}
