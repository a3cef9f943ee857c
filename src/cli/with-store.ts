import type { Command } from "commander";
import { type Config, loadConfig } from "../config.ts";
import { openStore } from "../store/open.ts";
import type { Store } from "../store/port.ts";
import { becomeOwner } from "./owner.ts";

/** Who the audit trail says it was: whoever can run this command is root, or the service's user. */
export const ACTOR = "cli";

/** What every command on the store can be told. */
export interface StoreOptions {
  readonly data?: string;
  readonly database?: string;
  readonly json?: boolean;
  readonly webhookAllow?: readonly string[];
  readonly webhookCa?: string;
}

/** A command on the store; its arguments and further options are the caller's. */
export function commandOnStore(parent: Command, name: string, about: string): Command {
  return parent
    .command(name)
    .description(about)
    .option("--json", "answer as one line of JSON")
    .option("--data <directory>", "data directory")
    .option("--database <url>", "a PostgreSQL database instead of the one in the data directory (ASSAY_DATABASE)");
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
