import { Command } from "commander";
import {
  archiveProject,
  createProject,
  listProjects,
  type ProjectView,
  renameProject,
  restoreProject,
} from "../admin/projects.ts";
import { answer, table } from "./answer.ts";
import { ACTOR, type DataOption, withStore } from "./with-store.ts";

interface Options extends DataOption {
  readonly json?: boolean;
}

/** `assay projects`: what keys and webhook endpoints belong to. */
export function projectsCommand(): Command {
  const projects = new Command("projects").description("make, list, rename and archive projects");

  projects
    .command("create")
    .description("make a project and print its id")
    .requiredOption("--name <name>", "its name, unique in its account")
    .option("--account <name>", "whose it is (default: an account of the project's name)")
    .option("--json", "as JSON")
    .option("--data <directory>", "data directory")
    .action((options: Options & { name: string; account?: string }) =>
      withStore(options, async (store) => {
        const project = await createProject(store, options, ACTOR);
        answer(options.json, project, () => project.id);
      }),
    );

  projects
    .command("list")
    .description("all projects, oldest first")
    .option("--json", "as JSON")
    .option("--data <directory>", "data directory")
    .action((options: Options) =>
      withStore(options, async (store) => {
        const all = await listProjects(store);
        answer(options.json, all, () => table(["ID", "NAME", "ACCOUNT", "CREATED", "STATE"], all.map(row)));
      }),
    );

  projects
    .command("rename")
    .description("give a project another name; its keys and endpoints stay")
    .argument("<project>", "its name or id")
    .argument("<name>", "the new name")
    .option("--json", "as JSON")
    .option("--data <directory>", "data directory")
    .action((which: string, name: string, options: Options) =>
      withStore(options, async (store) => {
        const project = await renameProject(store, which, name, ACTOR);
        answer(options.json, project, () => `renamed ${which} to ${project.name}`);
      }),
    );

  for (const { verb, done, about, act } of [
    { verb: "archive", done: "archived", about: "close a project to new keys and endpoints", act: archiveProject },
    { verb: "restore", done: "restored", about: "open an archived project again", act: restoreProject },
  ]) {
    projects
      .command(verb)
      .description(about)
      .argument("<project>", "its name or id")
      .option("--json", "as JSON")
      .option("--data <directory>", "data directory")
      .action((which: string, options: Options) =>
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
