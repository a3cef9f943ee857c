import type { Command } from "commander";
import { type Config, loadConfig } from "../config.ts";
import { openStore } from "../store/open.ts";
import type { Store } from "../store/store.ts";
import { becomeOwner } from "./owner.ts";

/** The actor in the audit trail: commands run as root or the service's user. */
export const ACTOR = "cli";

/** The options of every command on the store. */
export interface StoreOptions {
  readonly data?: string;
  readonly database?: string;
  readonly json?: boolean;
  readonly webhookAllow?: readonly string[];
  readonly webhookCa?: string;
}

/** Flags and text of the options that many commands share. */
export const DATA = ["--data <directory>", "data directory (ASSAY_DATA)"] as const;
export const DATABASE = ["--database <url>", "PostgreSQL database to use instead of SQLite (ASSAY_DATABASE)"] as const;
export const JSON_LINE = ["--json", "print one line of JSON"] as const;

/**
 * A command on the store; the caller adds arguments and further options.
 * @param about sentences; a list of commands shows the first one.
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
  options: StoreOptions,
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
