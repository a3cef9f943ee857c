import type { Command } from "commander";
import { wholeNumber } from "./option-values.ts";
import { commandOnStore, type StoreCommandOptions } from "./with-store.ts";

export interface ListOptions extends StoreCommandOptions {
  readonly account?: string;
  readonly limit: number;
  readonly after?: string;
}

/** A paginated command `list`. */
export function listing(parent: Command, about: string): Command {
  return commandOnStore(parent, "list", about)
    .option("--account <account>", "rows of this account only, by name or id")
    .option("--limit <number>", "number of rows, up to 1000", wholeNumber, 100)
    .option("--after <id>", "continue after the row with this id");
}

/** After a full page, prints the option for the next one to stderr, which scripts do not read. */
export function noteMore(rows: readonly { readonly id: string }[], limit: number): void {
  const last = rows.at(-1);
  if (last && rows.length === limit) process.stderr.write(`note: there may be more: --after ${last.id}\n`);
}
