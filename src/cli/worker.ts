import { Command } from "commander";
import { ConfigError, type Flags, loadConfig } from "../config.ts";
import { becomeOwner } from "./owner.ts";
import { end, signalled } from "./serve.ts";
import { startWorker } from "./service.ts";
import { DATA } from "./with-store.ts";

/** `assay worker`: runs submissions of a shared database, without accepting requests, until SIGTERM or SIGINT. It then exits with 0. */
export function workerCommand(): Command {
  return new Command("worker")
    .description(
      "Set up the machine, then run submissions from a shared PostgreSQL database until SIGTERM or Ctrl-C. It accepts no requests. After the signal, running submissions may finish, and the exit code is 0. Several workers can share a machine.",
    )
    .option(...DATA)
    .option("--database <url>", "PostgreSQL database, required (ASSAY_DATABASE)")
    .option("--languages <names>", "language packs to set up: all, none, or names with commas (ASSAY_LANGUAGES)")
    .option("--workers <number>", "submissions to run at the same time (ASSAY_WORKERS)")
    .option("--no-park", "start language runtimes only when they are needed (ASSAY_PARK_BYTES=0)")
    .option("--launcher-socket <path>", "launcher socket (ASSAY_LAUNCHER_SOCKET); set-up passes it")
    .option(
      "--egress-directory <directory>",
      "directory of the socket for the network of sandboxes (ASSAY_EGRESS_DIRECTORY); set-up passes it",
    )
    .option("--keep-sandboxes", "leave sandboxes to the launcher at a stop, for the next start; the units pass it")
    .option("--operator-listen <address>", "operator listener: HOST:PORT or unix:/PATH (ASSAY_OPERATOR_LISTEN)")
    .action(work);
}

async function work(flags: Flags): Promise<void> {
  const config = loadConfig(flags);
  if (config.database.kind === "sqlite") {
    throw new ConfigError("a worker needs --database postgres://…: SQLite belongs to one process, 'assay serve'");
  }
  if (becomeOwner(config.dataDir) === 0) {
    throw new ConfigError(
      `a worker does not run as root: start it with 'assay worker', or give ${config.dataDir}/db to its user`,
    );
  }
  const worker = await startWorker(config);
  await signalled();
  await worker.stop();
  end();
}
