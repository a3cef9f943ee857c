import { Command, InvalidArgumentError } from "commander";
import { createKey, type KeyView, listKeys, revokeKey } from "../admin/keys.ts";
import { loadConfig } from "../config.ts";
import { isProfileName, PROFILE_NAMES, type ProfileName } from "../domain/limits.ts";
import { openStore } from "../store/open.ts";
import type { Store } from "../store/port.ts";
import { becomeOwner } from "./owner.ts";

interface DataOption {
  data?: string;
}

interface CreateOptions extends DataOption {
  name: string;
  account?: string;
  rpm?: number;
  concurrency?: number;
  profiles: ProfileName[];
  json?: boolean;
}

/** `assay keys`: works on the database itself, so it does not matter whether the service runs. */
export function keysCommand(): Command {
  const keys = new Command("keys").description("make, list and revoke API keys");

  keys
    .command("create")
    .description("make a key and print it; it is shown this once")
    .requiredOption("--name <name>", "what the key is for")
    .option("--account <name>", "whose records it sees (default: an account of the key's name)")
    .option("--rpm <number>", "requests a minute, instead of the tier's", wholeNumber)
    .option("--concurrency <number>", "submissions executing at once, instead of the tier's", wholeNumber)
    .option("--profiles <names>", `profiles it may use; the first is its default`, profileList, ["judge"])
    .option("--json", "print id and limits too, as JSON")
    .option("--data <directory>", "data directory")
    .action((options: CreateOptions) => withStore(options, (store) => create(store, options)));

  keys
    .command("list")
    .description("all keys, oldest first")
    .option("--json", "as JSON")
    .option("--data <directory>", "data directory")
    .action((options: DataOption & { json?: boolean }) =>
      withStore(options, async (store) => {
        const all = await listKeys(store);
        print(options.json ? JSON.stringify(all) : table(all));
      }),
    );

  keys
    .command("revoke")
    .description("end a key at once")
    .argument("<key>", "the key, its id, or its visible first characters")
    .option("--json", "as JSON")
    .option("--data <directory>", "data directory")
    .action((which: string, options: DataOption & { json?: boolean }) =>
      withStore(options, async (store) => {
        const key = await revokeKey(store, which);
        print(options.json ? JSON.stringify({ id: key.id, revoked: true }) : `revoked ${key.prefix}… (${key.name})`);
      }),
    );

  return keys;
}

async function create(store: Store, options: CreateOptions): Promise<void> {
  const { key, id } = await createKey(
    store,
    {
      name: options.name,
      account: options.account,
      requestsPerMinute: options.rpm,
      concurrency: options.concurrency,
      profiles: options.profiles,
    },
    Date.now(),
  );
  if (!options.json) return print(key);
  const view = (await listKeys(store)).find((other) => other.id === id);
  print(JSON.stringify({ key, ...view }));
}

async function withStore(options: DataOption, work: (store: Store) => Promise<void>): Promise<void> {
  const { databasePath } = loadConfig({ data: options.data });
  becomeOwner(databasePath);
  const store = await openStore({ path: databasePath });
  try {
    await work(store);
  } finally {
    await store.close();
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function table(keys: readonly KeyView[]): string {
  const rows = keys.map((key) => [
    key.id,
    `${key.prefix}…`,
    key.name,
    key.account,
    key.profiles.join(","),
    key.revokedAt ? `revoked ${key.revokedAt}` : `used ${key.lastUsedAt ?? "never"}`,
  ]);
  const all = [["ID", "KEY", "NAME", "ACCOUNT", "PROFILES", "STATE"], ...rows];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? [];
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("must be a whole number");
  return Number(text);
}

function profileList(text: string): ProfileName[] {
  return text.split(",").map((name) => {
    if (isProfileName(name)) return name;
    throw new InvalidArgumentError(`must be a list of ${PROFILE_NAMES.join(", ")}`);
  });
}
