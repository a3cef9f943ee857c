import { Command } from "commander";
import { ConfigError, type Flags, loadConfig } from "../config.ts";
import { append } from "./option-values.ts";
import { becomeOwner } from "./owner.ts";
import { startService } from "./service.ts";
import { noteWebhookSettings, ownWebhookSettings } from "./webhook-settings.ts";

/** `serve`: the service in the foreground until SIGTERM or SIGINT, then 0. SIGHUP reads the certificate again. */
export function serveCommand(): Command {
  return new Command("serve")
    .description("run the service; the launcher must already listen")
    .option("--data <directory>", "data directory (ASSAY_DATA)")
    .option("--database <url>", "a PostgreSQL database instead of the one in the data directory (ASSAY_DATABASE)")
    .option("--listen <host:port>", "where clients connect (ASSAY_LISTEN)")
    .option("--workers <number>", "submissions that run at once (ASSAY_WORKERS)")
    .option("--no-worker", "run nothing here: workers are 'assay worker' with the same PostgreSQL database")
    .option("--launcher-socket <path>", "the launcher's socket (ASSAY_LAUNCHER_SOCKET)")
    .option("--operator-listen <address>", "liveness and readiness without a key: HOST:PORT or unix:/PATH")
    .option("--webhook-allow <host:port>", "a webhook receiver that may have any address; may be repeated", append, [])
    .option("--webhook-ca <file>", "an authority of webhook receivers, besides the usual ones (ASSAY_WEBHOOK_CA)")
    .option("--dashboard <directory>", "the built dashboard (ASSAY_DASHBOARD); set-up gives its own")
    .option("--plain-http", "HTTP without TLS, on a loopback address only")
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
  const service = await startService(config);
  process.on("SIGHUP", () => service.reload());
  await signalled();
  await service.stop();
}

/** Resolves at the first signal to stop; the second one, whichever it is, ends the process at once. */
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
