import type { AuditActor } from "../domain/audit.ts";
import type { Project } from "../store/access/types.ts";
import type { Store } from "../store/store.ts";
import { ensureAccount, findAccount, type Unnamed } from "./accounts.ts";
import { AdminError } from "./error.ts";
import { type ListedPart, partFor } from "./pagination.ts";
import { checkName } from "./rules.ts";

export interface ProjectView {
  readonly id: string;
  readonly name: string;
  readonly account: string;
  readonly createdAt: string;
  readonly archivedAt: string | null;
}

export interface NewProject {
  readonly name: string;
  /** Name or id of the account. If it is undefined, the project gets the account with the name of the project. */
  readonly account?: string | undefined;
  /** The id of an existing account, instead of `account`. */
  readonly accountId?: string | undefined;
}

/**
 * Members cannot create a project in an account that has this many. Archived projects count as well, because their rows stay.
 * Administrators may create more.
 */
export const MEMBERS_PROJECTS = 200;

/**
 * Creates a project.
 * @param unnamed see ensureAccount.
 * @param most the most projects that the account may have; null for no limit.
 * @throws AdminError if the account has a project of that name or `most` projects, or a name is invalid.
 */
export async function createProject(
  store: Store,
  request: NewProject,
  actor: AuditActor,
  { unnamed = () => {}, most = null }: { readonly unnamed?: Unnamed; readonly most?: number | null } = {},
): Promise<ProjectView> {
  checkName(request.name);
  const accountId = request.accountId ?? (await ensureAccount(store, request, actor, unnamed));
  const id = await store.projects.create(accountId, request.name, actor, most);
  if (id === null) {
    throw new AdminError(
      `the account has ${most} projects, archived ones included, the maximum without an administrator`,
    );
  }
  if (id === undefined) {
    const { name } = await findAccount(store, accountId);
    throw new AdminError(`the account ${name} already has a project ${request.name}`);
  }
  return view(await findProject(store, id));
}

/** A page of projects, newest first. @throws AdminError if the account or project is unknown. */
export async function listProjects(store: Store, which: ListedPart = {}): Promise<ProjectView[]> {
  const part = await partFor(store, which, async (id) => {
    const project = await store.projects.get(id);
    return project && [project.accountId];
  });
  return (await store.projects.list(part)).map(view);
}

/** @throws AdminError if the name is invalid, the project is unknown, or its account has another project of that name. */
export async function renameProject(
  store: Store,
  which: string,
  name: string,
  actor: AuditActor,
): Promise<ProjectView> {
  checkName(name);
  const { id, accountName } = await findProject(store, which);
  if (!(await store.projects.rename(id, name, actor))) {
    throw new AdminError(`the account ${accountName} already has a project ${name}`);
  }
  return view(await findProject(store, id));
}

/**
 * Closes a project to new keys and endpoints. It is never deleted, because records refer to it.
 * @throws AdminError if the project is unknown or has live keys.
 */
export async function archiveProject(store: Store, which: string, actor: AuditActor): Promise<ProjectView> {
  const { id, name } = await findProject(store, which);
  const keys = await store.projects.archive(id, actor);
  if (keys > 0) throw new AdminError(`the project ${name} has live keys (${keys}); revoke them first`);
  return view(await findProject(store, id));
}

/** @throws AdminError if the project is unknown. */
export async function restoreProject(store: Store, which: string, actor: AuditActor): Promise<ProjectView> {
  const { id } = await findProject(store, which);
  await store.projects.restore(id, actor);
  return view(await findProject(store, id));
}

/**
 * @param which the id of the project, or a name that only one project has.
 * @param account name or id of the account of the project; undefined to search all accounts.
 * @throws AdminError if no or several projects match.
 */
export async function findProject(store: Store, which: string, account?: string): Promise<Project> {
  const found = await store.projects.find(which);
  // An id takes precedence, because members could name a project by the id of another.
  const named = found.filter(({ id }) => id === which);
  const [project, ...others] = (named.length > 0 ? named : found).filter(
    ({ accountId, accountName }) => account === undefined || account === accountName || account === accountId,
  );
  if (!project) {
    throw new AdminError(`there is no project ${which}${account === undefined ? "" : ` in the account ${account}`}`);
  }
  if (others.length > 0) throw new AdminError(`several accounts have a project ${which}; use its id`);
  return project;
}

/** Finds a project to which keys or endpoints are to be added. @throws AdminError also if it is archived. */
export async function findOpenProject(store: Store, which: string, account?: string): Promise<Project> {
  const project = await findProject(store, which, account);
  if (project.archivedAtMs !== null) throw archived(project.name);
  return project;
}

export function archived(name: string): AdminError {
  return new AdminError(`the project ${name} is archived; restore it first`);
}

function view({ id, name, accountName, createdAtMs, archivedAtMs }: Project): ProjectView {
  return {
    id,
    name,
    account: accountName,
    createdAt: new Date(createdAtMs).toISOString(),
    archivedAt: archivedAtMs === null ? null : new Date(archivedAtMs).toISOString(),
  };
}
