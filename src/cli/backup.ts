import { once } from "node:events";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { Command } from "commander";
import { ConfigError } from "../config.ts";
import { DATA, DATABASE, type StoreCommandOptions, withStore } from "./with-store.ts";

/** `assay backup > FILE`: the whole database, also while the service runs. */
export function backupCommand(): Command {
  return new Command("backup")
    .description(
      "Write a consistent, compressed copy of the whole database to standard output while services and workers run: assay backup > FILE. It contains programs, results and encrypted webhook secrets. Protect it like the database, and store the key file elsewhere.",
    )
    .option(...DATA)
    .option(...DATABASE)
    .action(backup);
}

async function backup(options: StoreCommandOptions): Promise<void> {
  if (process.stdout.isTTY) throw new ConfigError("a backup is for a file: sudo assay backup > FILE");
  await withStore(options, async (store) => {
    const compressed = createGzip();
    const written = pipeline(compressed, process.stdout, { end: false });
    const rows = await store.backup(async (line) => {
      if (!compressed.write(line)) await Promise.race([once(compressed, "drain"), written]);
    });
    compressed.end();
    await written;
    process.stderr.write(
      `assay: ${rows} rows. The webhook secrets in the backup need the key file, which the backup does not contain\n`,
    );
  });
}
