import { setTimeout as sleep } from "node:timers/promises";
import { Command } from "commander";
import { ConfigError, loadConfig } from "../config.ts";
import type { Address } from "../domain/transport.ts";
import { askOperator, ServiceUnreachable } from "./ask-operator.ts";
import type { StatusPage } from "./operator-pages.ts";
import { append } from "./option-values.ts";
import { statusText } from "./status-text.ts";

const WATCH_MS = 2_000;
/** Starts each page of --watch. On a terminal, supervisor/relay.c clears the screen at this character. */
const FORM_FEED = "\f";

interface Options {
  readonly json?: boolean;
  readonly watch?: boolean;
  readonly operatorListen: readonly string[];
}

/** `assay status`: shows the state of running services and workers. The exit code is 1 if none responds. */
export function statusCommand(): Command {
  return new Command("status")
    .description(
      "Show the state of the services and workers in this data directory: readiness, workers, queue, runs, recent verdicts, sandboxes, their network, snapshots, webhooks, database, disk and certificate. The exit code is 1 if nothing runs.",
    )
    .option("--json", "print one line of JSON for each process")
    .option("--watch", "refresh every two seconds until Ctrl-C")
    .option(
      "--operator-listen <address>",
      "operator listener: HOST:PORT or unix:/PATH; repeatable; set-up passes it",
      append,
      [],
    )
    .action(async (options: Options) => {
      const addresses = addressesOf(options);
      if (!options.watch) {
        process.stdout.write(await readStatus(addresses, options.json));
        return;
      }
      const begin = options.json ? "" : FORM_FEED;
      for (;;) {
        // The loop goes on if a process does not answer, so that a restarted process is shown again.
        const seen = await readStatus(addresses, options.json).catch((error: unknown) => {
          if (error instanceof ServiceUnreachable) return `${error.message}\n`;
          throw error;
        });
        process.stdout.write(`${begin}${seen}`);
        await sleep(WATCH_MS);
      }
    });
}

/** @throws ConfigError if no address is given, or one is invalid. */
function addressesOf({ operatorListen }: Options): Address[] {
  const given = operatorListen.length > 0 ? operatorListen : [undefined];
  const parsed = given.map((address) => loadConfig({ operatorListen: address }).operatorListen);
  const known = parsed.filter((address) => address !== null);
  if (known.length === 0) {
    throw new ConfigError(
      "no operator listener: pass --operator-listen, or use 'assay status', which finds running services",
    );
  }
  return known;
}

async function readStatus(addresses: readonly Address[], json = false): Promise<string> {
  const pages = await Promise.all(addresses.map((address) => askOperator(address, "/status")));
  return pages.map((page) => (json ? `${page}\n` : statusText(JSON.parse(page) as StatusPage, Date.now()))).join("");
}
