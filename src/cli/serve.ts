import { Command } from "commander";
import { ConfigError, type Flags, loadConfig } from "../config.ts";
import { append } from "./option-values.ts";
import { becomeOwner } from "./owner.ts";
import { startService } from "./service.ts";
import { noteWebhookSettings, ownWebhookSettings } from "./webhook-settings.ts";
import { DATA } from "./with-store.ts";

/**
 * `assay serve`: runs the service in the foreground until SIGTERM or SIGINT, and then exits with 0. At SIGHUP, it reads the certificate
 * again (setup/command-serve.sh says when that signal is passed on).
 */
export function serveCommand(): Command {
  return new Command("serve")
    .description(
      "Set up the machine, then serve over HTTPS until SIGTERM or Ctrl-C. After that, running submissions may finish, and the exit code is 0.",
    )
    .option(...DATA)
    .option("--database <url>", "PostgreSQL database, which several machines can share (ASSAY_DATABASE)")
    .option("--listen <host:port>", "address for clients (ASSAY_LISTEN)")
    .option("--languages <names>", "language packs to set up: all, none, or names with commas (ASSAY_LANGUAGES)")
    .option("--workers <number>", "submissions to run at the same time (ASSAY_WORKERS)")
    .option("--no-park", "start language runtimes only when they are needed (ASSAY_PARK_BYTES=0)")
    .option(
      "--no-worker",
      "run nothing here and build no sandbox; 'assay worker' runs programs for the same PostgreSQL database",
    )
    .option("--launcher-socket <path>", "launcher socket (ASSAY_LAUNCHER_SOCKET); set-up passes it")
    .option(
      "--egress-directory <directory>",
      "directory of the socket for the network of sandboxes (ASSAY_EGRESS_DIRECTORY); set-up passes it",
    )
    .option("--keep-sandboxes", "leave sandboxes to the launcher at a stop, for the next start; the units pass it")
    .option("--operator-listen <address>", "operator listener: HOST:PORT or unix:/PATH (ASSAY_OPERATOR_LISTEN)")
    .option(
      "--webhook-allow <host:port>",
      "webhook receiver that may have any address; repeatable (ASSAY_WEBHOOK_ALLOW)",
      append,
      [],
    )
    .option("--webhook-ca <file>", "additional certificate authority for webhook receivers (ASSAY_WEBHOOK_CA)")
    .option("--dashboard <directory>", "built dashboard (ASSAY_DASHBOARD); set-up passes it")
    .option("--plain-http", "HTTP without TLS, on a loopback address only (ASSAY_PLAIN_HTTP)")
    .action(serve);
}

async function serve(flags: Flags): Promise<void> {
  const config = loadConfig(flags);
  if (!config.ownWorker && config.database.kind === "sqlite") {
    throw new ConfigError(
      "--no-worker needs --database postgres://…: SQLite belongs to one process, which runs everything",
    );
  }
  if (becomeOwner(config.dataDir, config.secretKey) === 0) {
    throw new ConfigError(
      `the service does not run as root: start it with 'assay serve', or give ${config.dataDir}/db to its user`,
    );
  }
  noteWebhookSettings(config, ownWebhookSettings(config));
  // The handler is registered before the service starts, because without a handler the signal would end the process.
  let reload = () => {};
  process.on("SIGHUP", () => reload());
  const service = await startService(config);
  reload = () => service.reload();
  await signalled();
  await service.stop();
  end();
}

/** Ends the process after its orderly stop: a thread that still parses the body of a request must not keep the process alive. */
export function end(): never {
  process.exit(0);
}

/** Resolves at the first signal; the second one ends the process at once. */
export function signalled(): Promise<void> {
  const signals = ["SIGTERM", "SIGINT"] as const;
  return new Promise((resolve) => {
    const first = () => {
      for (const signal of signals) process.off(signal, first);
      resolve();
    };
    for (const signal of signals) process.on(signal, first);
  });
}
