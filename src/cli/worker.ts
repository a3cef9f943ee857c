import { Command } from "commander";
import { ConfigError, type Flags, loadConfig } from "../config.ts";
import { becomeOwner } from "./owner.ts";
import { signalled } from "./serve.ts";
import { startWorker } from "./service.ts";

/** `worker`: runs submissions of a shared database, without HTTP, until SIGTERM or SIGINT, then 0. */
export function workerCommand(): Command {
  return new Command("worker")
    .description(
      "run submissions that services put into the same PostgreSQL database; the launcher must already listen",
    )
    .option("--data <directory>", "data directory (ASSAY_DATA)")
    .option("--database <url>", "the PostgreSQL database (ASSAY_DATABASE)")
    .option("--workers <number>", "submissions that run at once (ASSAY_WORKERS)")
    .option("--launcher-socket <path>", "the launcher's socket (ASSAY_LAUNCHER_SOCKET)")
    .option("--operator-listen <address>", "liveness and readiness without a key: HOST:PORT or unix:/PATH")
    .action(work);
}

async function work(flags: Flags): Promise<void> {
  const config = loadConfig(flags);
  if (config.database.kind === "sqlite") {
    throw new ConfigError(
      "a worker of its own needs --database postgres://…: SQLite belongs to one process, 'assay serve'",
    );
  }
  if (becomeOwner(config.dataDir) === 0) {
    throw new ConfigError(
      `a worker does not run as root: start it with 'assay worker', or give ${config.dataDir}/db to its user`,
    );
  }
  const worker = await startWorker(config);
  await signalled();
  await worker.stop();
}
