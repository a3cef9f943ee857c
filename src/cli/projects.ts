import { Command } from "commander";
import {
  archiveProject,
  createProject,
  listProjects,
  type ProjectView,
  renameProject,
  restoreProject,
} from "../admin/projects.ts";
import { answer, noteUnnamed, table } from "./answer.ts";
import { type ListOptions, listing, noteMore } from "./listing.ts";
import { ACTOR, commandOnStore, type StoreCommandOptions, withStore } from "./with-store.ts";

/** `assay projects`: groups of keys and webhook endpoints. */
export function projectsCommand(): Command {
  const projects = new Command("projects").description("Create, list, rename, archive and restore projects.");

  commandOnStore(
    projects,
    "create",
    "Create a project and print its id. Without --account, the project belongs to the account with the name of the project; a note on stderr says whether this account was created or joined.",
  )
    .requiredOption("--name <name>", "name, unique in the account")
    .option("--account <name>", "owning account (default: the account with the name of the project)")
    .action((options: StoreCommandOptions & { name: string; account?: string }) =>
      withStore(options, async (store) => {
        const project = await createProject(store, options, ACTOR, { unnamed: noteUnnamed });
        answer(options.json, project, () => project.id);
      }),
    );

  listing(projects, "List projects, newest first, including archived ones.").action((options: ListOptions) =>
    withStore(options, async (store) => {
      const all = await listProjects(store, options);
      noteMore(all, options.limit);
      answer(options.json, all, () => table(["ID", "NAME", "ACCOUNT", "CREATED", "STATE"], all.map(row)));
    }),
  );

  commandOnStore(projects, "rename", "Rename a project. Its keys, endpoints and records are kept.")
    .argument("<project>", "name or id")
    .argument("<name>", "new name")
    .action((which: string, name: string, options: StoreCommandOptions) =>
      withStore(options, async (store) => {
        const project = await renameProject(store, which, name, ACTOR);
        answer(options.json, project, () => `renamed ${which} to ${project.name}`);
      }),
    );

  for (const { verb, done, about, act } of [
    {
      verb: "archive",
      done: "archived",
      about: "Close a project to new keys and endpoints. Revoke its keys first.",
      act: archiveProject,
    },
    { verb: "restore", done: "restored", about: "Reopen an archived project.", act: restoreProject },
  ]) {
    commandOnStore(projects, verb, about)
      .argument("<project>", "name or id")
      .action((which: string, options: StoreCommandOptions) =>
        withStore(options, async (store) => {
          const project = await act(store, which, ACTOR);
          answer(options.json, project, () => `${done} ${project.name}`);
        }),
      );
  }

  return projects;
}

function row({ id, name, account, createdAt, archivedAt }: ProjectView): string[] {
  return [id, name, account, createdAt, archivedAt === null ? "open" : `archived ${archivedAt}`];
}
