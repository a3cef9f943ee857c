import type { Command } from "commander";
import { type Config, loadConfig } from "../config.ts";
import { openStore } from "../store/open.ts";
import type { Store } from "../store/store.ts";
import { becomeOwner } from "./owner.ts";

/** The actor of a command in the audit trail. Commands run as root or as the user of the service, so they know no person. */
export const ACTOR = "cli";

/** The options of every command on the store. */
export interface StoreCommandOptions {
  readonly data?: string;
  readonly database?: string;
  readonly json?: boolean;
  readonly webhookAllow?: readonly string[];
  readonly webhookCa?: string;
}

/** The flags and descriptions of options that many commands have. */
export const DATA = ["--data <directory>", "data directory (ASSAY_DATA)"] as const;
export const DATABASE = ["--database <url>", "PostgreSQL database to use instead of SQLite (ASSAY_DATABASE)"] as const;
export const JSON_LINE = ["--json", "print one line of JSON"] as const;

/**
 * A command on the store; the caller adds arguments and further options.
 * @param about sentences that describe the command; a list of commands shows only the first.
 */
export function commandOnStore(parent: Command, name: string, about: string): Command {
  return parent
    .command(name)
    .summary(firstSentence(about))
    .description(about)
    .option(...JSON_LINE)
    .option(...DATA)
    .option(...DATABASE);
}

/** Opens the store of a data directory for one command, whether or not the service runs. */
export async function withStore(
  options: StoreCommandOptions,
  work: (store: Store, config: Config) => Promise<void>,
): Promise<void> {
  const config = loadConfig(options);
  becomeOwner(config.dataDir, config.secretKey);
  const store = await openStore(config);
  try {
    await work(store, config);
  } finally {
    await store.close();
  }
}

function firstSentence(text: string): string {
  return text.split(/\.(?: |$)/)[0] ?? text;
}
