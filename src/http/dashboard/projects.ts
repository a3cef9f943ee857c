import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { archiveProject, createProject, renameProject, restoreProject } from "../../admin/projects.ts";
import { clientError } from "../../domain/error.ts";
import type { Store } from "../../store/port.ts";
import type { NewProject, Project, ProjectChanges } from "./answers.ts";
import { bodyOf } from "./asked.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { anId, ownAccount, ownProject } from "./own.ts";
import { maySee, personOf, type SignedIn } from "./session.ts";

const PROJECTS = "/dashboard/api/projects";

const newProject = z.strictObject({ name: z.string(), accountId: anId }) satisfies z.ZodType<NewProject>;
const changes = z
  .strictObject({ name: z.string().exactOptional(), archived: z.boolean().exactOptional() })
  // Each may be refused by itself, and half of what was asked is nothing that anybody asked for.
  .refine(
    ({ name, archived }) => (name === undefined) !== (archived === undefined),
    "name or archived, one at a time",
  ) satisfies z.ZodType<ProjectChanges>;

/** /dashboard/api/projects: what members have by themselves. */
export function projectRoutes(server: FastifyInstance, { store }: DashboardDependencies): void {
  const config = { session: "member" } as const;

  server.get(PROJECTS, { config }, (request): Promise<Project[]> => projectsOf(store, personOf(request)));

  server.post(PROJECTS, { config }, async (request): Promise<Project> => {
    const { name, accountId } = bodyOf(request, newProject);
    const person = personOf(request);
    const account = await ownAccount(store, person, accountId);
    const { id } = await createProject(store, { name, account: account.name }, person.email);
    return await projectOf(store, person, id);
  });

  server.patch<{ Params: { id: string } }>(`${PROJECTS}/:id`, { config }, async (request): Promise<Project> => {
    const { name, archived } = bodyOf(request, changes);
    const person = personOf(request);
    const { id } = await ownProject(store, person, request.params.id);
    if (name !== undefined) await renameProject(store, id, name, person.email);
    else if (archived) await archiveProject(store, id, person.email);
    else await restoreProject(store, id, person.email);
    return await projectOf(store, person, id);
  });
}

async function projectOf(store: Store, person: SignedIn, id: string): Promise<Project> {
  const project = (await projectsOf(store, person)).find((one) => one.id === id);
  if (!project) throw clientError("notThere", []);
  return project;
}

/** Oldest first. */
async function projectsOf(store: Store, person: SignedIn): Promise<Project[]> {
  const [projects, keys, endpoints] = await Promise.all([
    store.projects.list(),
    store.keys.list(),
    store.endpoints.list(),
  ]);
  const liveKeys = countBy(keys.filter(({ live }) => live));
  const endpointCounts = countBy(endpoints);
  return projects
    .filter(({ accountId }) => maySee(person, accountId))
    .map(({ id, name, accountId, accountName, createdAtMs, archivedAtMs }) => ({
      id,
      name,
      account: { id: accountId, name: accountName },
      createdAt: new Date(createdAtMs).toISOString(),
      archivedAt: archivedAtMs === null ? null : new Date(archivedAtMs).toISOString(),
      liveKeys: liveKeys.get(id) ?? 0,
      endpoints: endpointCounts.get(id) ?? 0,
    }));
}

function countBy(things: readonly { readonly projectId: string | null }[]): ReadonlyMap<string | null, number> {
  const groups = Map.groupBy(things, ({ projectId }) => projectId);
  return new Map([...groups].map(([id, { length }]) => [id, length]));
}
