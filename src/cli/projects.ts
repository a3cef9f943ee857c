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
import { ACTOR, commandOnStore, type StoreOptions, withStore } from "./with-store.ts";

/** `assay projects`: what keys and webhook endpoints belong to. */
export function projectsCommand(): Command {
  const projects = new Command("projects").description("make, list, rename and archive projects");

  commandOnStore(projects, "create", "make a project and print its id")
    .requiredOption("--name <name>", "its name, unique in its account")
    .option("--account <name>", "whose it is (default: an account of the project's name)")
    .action((options: StoreOptions & { name: string; account?: string }) =>
      withStore(options, async (store) => {
        const project = await createProject(store, options, ACTOR, { unnamed: noteUnnamed });
        answer(options.json, project, () => project.id);
      }),
    );

  listing(projects, "projects, newest first").action((options: ListOptions) =>
    withStore(options, async (store) => {
      const all = await listProjects(store, options);
      noteMore(all, options.limit);
      answer(options.json, all, () => table(["ID", "NAME", "ACCOUNT", "CREATED", "STATE"], all.map(row)));
    }),
  );

  commandOnStore(projects, "rename", "give a project another name; its keys and endpoints stay")
    .argument("<project>", "its name or id")
    .argument("<name>", "the new name")
    .action((which: string, name: string, options: StoreOptions) =>
      withStore(options, async (store) => {
        const project = await renameProject(store, which, name, ACTOR);
        answer(options.json, project, () => `renamed ${which} to ${project.name}`);
      }),
    );

  for (const { verb, done, about, act } of [
    { verb: "archive", done: "archived", about: "close a project to new keys and endpoints", act: archiveProject },
    { verb: "restore", done: "restored", about: "open an archived project again", act: restoreProject },
  ]) {
    commandOnStore(projects, verb, about)
      .argument("<project>", "its name or id")
      .action((which: string, options: StoreOptions) =>
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
