import { Command } from "commander";
import type { KeyView } from "../admin/key-view.ts";
import { createKey, dropPendingOfKey, listKeys, revokeKey, rotateKey, updateKey } from "../admin/keys.ts";
import type { ProfileName } from "../domain/limits.ts";
import { answer, noteUnnamed, table } from "./answer.ts";
import { type ListOptions, listing, noteMore } from "./listing.ts";
import { DEFAULT_OVERLAP, duration, limitOrTier, profile, profileList, wholeNumber } from "./option-values.ts";
import { ACTOR, commandOnStore, type StoreCommandOptions, withStore } from "./with-store.ts";

interface CreateOptions extends StoreCommandOptions {
  readonly name: string;
  readonly account?: string;
  readonly project?: string;
  readonly rpm?: number;
  readonly concurrency?: number;
  readonly profiles: ProfileName[];
  readonly defaultProfile?: ProfileName;
}

interface UpdateOptions extends StoreCommandOptions {
  readonly rpm?: number | "tier";
  readonly concurrency?: number | "tier";
  readonly profiles?: ProfileName[];
  readonly defaultProfile?: ProfileName;
}

const WHICH = "id or visible prefix";

/** `assay keys`: works on the database, with or without a running service. */
export function keysCommand(): Command {
  const keys = new Command("keys").description("Create, list, update, rotate and revoke API keys.");

  commandOnStore(
    keys,
    "create",
    "Create a key and print it. The key is shown only once. The key belongs to the account of the project, to the named account, or to an account with the name of the key; a note on stderr says whether that account was created or joined. A key can read only the results of its own account, so pass the account of the first key of a client with --account when you create the second.",
  )
    .requiredOption("--name <name>", "purpose of the key")
    .option("--account <name>", "owning account (default: the account of the project, or one with the name of the key)")
    .option("--project <project>", "project, by name or id, whose webhooks receive the results")
    .option("--rpm <number>", "requests a minute (default: those of the tier)", wholeNumber)
    .option(
      "--concurrency <number>",
      "submissions executing at the same time (default: those of the tier)",
      wholeNumber,
    )
    .option("--profiles <names>", "allowed profiles, separated by commas", profileList, ["judge"])
    .option("--default-profile <name>", "default profile of submissions (default: the first)", profile)
    .option("--if-empty", "create nothing and print nothing if there is a key already")
    .action((options: CreateOptions & { ifEmpty?: boolean }) =>
      withStore(options, async (store) => {
        if (options.ifEmpty && (await listKeys(store, { limit: 1 })).length > 0) return;
        const made = await createKey(store, { ...options, requestsPerMinute: options.rpm }, ACTOR, {
          unnamed: noteUnnamed,
        });
        answer(options.json, made, () => made.key);
      }),
    );

  listing(keys, "List keys by their prefixes, newest first, with state and last use.")
    .option("--project <project>", "keys of this project only, by name or id")
    .action((options: ListOptions & { project?: string }) =>
      withStore(options, async (store) => {
        const all = await listKeys(store, options);
        noteMore(all, options.limit);
        answer(options.json, all, () =>
          table(["ID", "KEY", "NAME", "ACCOUNT", "PROJECT", "PROFILES", "STATE"], all.map(row)),
        );
      }),
    );

  commandOnStore(
    keys,
    "update",
    "Change the limits and profiles of a key. The change holds from the next request of the key on.",
  )
    .argument("<key>", WHICH)
    .option("--rpm <number>", "requests a minute; 'tier' removes the override", limitOrTier)
    .option(
      "--concurrency <number>",
      "submissions executing at the same time; 'tier' removes the override",
      limitOrTier,
    )
    .option("--profiles <names>", "allowed profiles, separated by commas", profileList)
    .option("--default-profile <name>", "default profile of submissions", profile)
    .action((which: string, options: UpdateOptions) =>
      withStore(options, async (store) => {
        const { profiles, defaultProfile } = options;
        const requestsPerMinute = options.rpm === "tier" ? null : options.rpm;
        const concurrency = options.concurrency === "tier" ? null : options.concurrency;
        const key = await updateKey(store, which, { requestsPerMinute, concurrency, profiles, defaultProfile }, ACTOR);
        answer(options.json, key, () => `changed ${key.prefix}… (${key.name})`);
      }),
    );

  commandOnStore(
    keys,
    "rotate",
    "Replace a key by a new one with the settings of the old one, and print the new key. The old key stops working after the overlap.",
  )
    .argument("<key>", WHICH)
    .option(
      "--overlap <time>",
      "how long the old key still works: 90s, 15m, 7d, or 0 to stop it immediately (default: 24h)",
      duration,
    )
    .action((which: string, options: StoreCommandOptions & { overlap?: number }) =>
      withStore(options, async (store) => {
        const { made, old } = await rotateKey(store, which, options.overlap ?? duration(DEFAULT_OVERLAP), ACTOR);
        answer(options.json, { ...made, old }, () => made.key);
        if (!options.json) process.stderr.write(`the old key ${old.prefix}… stops at ${old.expiresAt}\n`);
      }),
    );

  commandOnStore(
    keys,
    "revoke",
    "Revoke a key immediately. Its submissions still run; the command prints how many are pending.",
  )
    .argument("<key>", WHICH)
    .option("--drop-pending", "also end its pending submissions: status error, verdict IE")
    .action((which: string, options: StoreCommandOptions & { dropPending?: boolean }) =>
      withStore(options, async (store) => {
        const { key, dropped, pending } = await revokeKey(store, which, ACTOR, { drop: options.dropPending });
        const rest = pending === 0 ? "" : `; ${pending} pending submissions will run unless you drop them`;
        const message = `revoked ${key.prefix}… (${key.name})${options.dropPending ? `; ${dropped} pending submissions dropped` : rest}`;
        answer(options.json, { id: key.id, revoked: true, dropped, pending }, () => message);
      }),
    );

  commandOnStore(
    keys,
    "drop-pending",
    "End the pending submissions of one key, like accounts drop-pending for an account.",
  )
    .argument("<key>", `${WHICH}; a revoked key is allowed`)
    .action((which: string, options: StoreCommandOptions) =>
      withStore(options, async (store) => {
        const { key, dropped } = await dropPendingOfKey(store, which, ACTOR);
        answer(
          options.json,
          { id: key.id, dropped },
          () => `${dropped} pending submissions of ${key.prefix}… (${key.name}) dropped`,
        );
      }),
    );

  return keys;
}

function row(key: KeyView): string[] {
  const { id, prefix, name, account, project, profiles } = key;
  return [id, `${prefix}…`, name, account, project ?? "-", profiles.join(","), state(key)];
}

function state({ state, revokedAt, expiresAt, lastUsedAt }: KeyView): string {
  if (state === "revoked") return `revoked ${revokedAt}`;
  if (state === "expired") return `expired ${expiresAt}`;
  const used = `used ${lastUsedAt ?? "never"}`;
  return expiresAt === null ? used : `${used}, stops ${expiresAt}`;
}
