import { createInterface } from "node:readline";
import { createGunzip } from "node:zlib";
import { Command } from "commander";
import { ConfigError, loadConfig } from "../config.ts";
import { restoreStore } from "../store/open.ts";
import { becomeOwner } from "./owner.ts";
import { DATA, DATABASE, type StoreCommandOptions } from "./with-store.ts";

/** `assay restore < FILE`: a backup of SQLite or PostgreSQL into an empty database of either kind. */
export function restoreCommand(): Command {
  return new Command("restore")
    .description(
      "Read a backup from standard input into an empty database, completely or not at all: assay restore < FILE. SQLite and PostgreSQL backups are interchangeable. Submissions that were running at the time of the backup run again; those with the profile agent or with live input end with status error.",
    )
    .option(...DATA)
    .option(...DATABASE)
    .action(restore);
}

async function restore(options: StoreCommandOptions): Promise<void> {
  if (process.stdin.isTTY) throw new ConfigError("a backup is read from a file: sudo assay restore < FILE");
  const config = loadConfig(options);
  becomeOwner(config.dataDir, config.secretKey);
  const rows = await restoreStore(config, linesOf(process.stdin));
  process.stderr.write(
    `assay: restored ${rows} rows. Webhook secrets need the key file with which they were encrypted\n`,
  );
}

async function* linesOf(compressed: NodeJS.ReadableStream): AsyncGenerator<string> {
  const text = compressed.pipe(createGunzip());
  try {
    yield* createInterface({ input: text, crlfDelay: Number.POSITIVE_INFINITY });
  } catch (error) {
    throw new ConfigError(`the backup cannot be read: ${(error as Error).message}`);
  }
}
