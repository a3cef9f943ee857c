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
import { accountsFor, listed, pageOf } from "./pagination.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import type { SignedIn } from "./session.ts";

const newProject = z.strictObject({ name: z.string(), accountId: idText }) satisfies z.ZodType<NewProject>;
const changes = z
  .strictObject({ name: z.string().exactOptional(), archived: z.boolean().exactOptional() })
  // Each of the two changes can be rejected, and a request must not take effect only in part.
  .refine(
    ({ name, archived }) => (name === undefined) !== (archived === undefined),
    "name or archived, one at a time",
  ) satisfies z.ZodType<ProjectChanges>;

const listQuery = listed.extend({ state: z.enum(["open", "any"]).default("any") });

/** /dashboard/api/projects: lists, creates, renames, archives and restores projects. Members may do all of this in their accounts. */
export const projectRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/projects",
    session: "member",
    query: listQuery,
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, query: { account, state, before, limit } }): Promise<Projects> => {
        const accountIds = accountsFor(person, account);
        const asked = { accountIds, open: state === "open", after: before, max: limit + 1 };
        const { shown, next } = pageOf(await store.projects.list(asked), limit);
        return { projects: await answers(store, shown), next };
      },
  }),
  dashboardRoute({
    method: "get",
    path: "/projects/{id}",
    session: "member",
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, path: { id } }): Promise<Project> => {
        return projectOf(store, person, id);
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/projects",
    session: "member",
    body: newProject,
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, actor, body: { name, accountId } }): Promise<Project> => {
        const account = await ownAccount(store, person, accountId);
        const most = person.administrator ? null : MEMBERS_PROJECTS;
        const { id } = await createProject(store, { name, accountId: account.id }, actor, { most });
        return await projectOf(store, person, id);
      },
  }),
  dashboardRoute({
    method: "patch",
    path: "/projects/{id}",
    session: "member",
    body: changes,
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, actor, path, body: { name, archived } }): Promise<Project> => {
        const { id } = await ownProject(store, person, path.id);
        if (name !== undefined) await renameProject(store, id, name, actor);
        else if (archived) await archiveProject(store, id, actor);
        else await restoreProject(store, id, actor);
        return await projectOf(store, person, id);
      },
  }),
];

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
