import { Command } from "commander";
import type { KeyView } from "../admin/key-view.ts";
import { createKey, dropPendingOfKey, listKeys, revokeKey, rotateKey, updateKey } from "../admin/keys.ts";
import type { ProfileName } from "../domain/limits.ts";
import { answer, noteUnnamed, table } from "./answer.ts";
import { type ListOptions, listing, noteMore } from "./listing.ts";
import { DEFAULT_OVERLAP, duration, limitOrTier, profile, profileList, wholeNumber } from "./option-values.ts";
import { ACTOR, commandOnStore, type StoreOptions, withStore } from "./with-store.ts";

interface CreateOptions extends StoreOptions {
  readonly name: string;
  readonly account?: string;
  readonly project?: string;
  readonly rpm?: number;
  readonly concurrency?: number;
  readonly profiles: ProfileName[];
  readonly defaultProfile?: ProfileName;
}

interface UpdateOptions extends StoreOptions {
  readonly rpm?: number | "tier";
  readonly concurrency?: number | "tier";
  readonly profiles?: ProfileName[];
  readonly defaultProfile?: ProfileName;
}

const WHICH = "its id or visible first characters; the key itself, too, but others may read a command line";

/** `assay keys`: works on the database itself, so it does not matter whether the service runs. */
export function keysCommand(): Command {
  const keys = new Command("keys").description("make, list, change, rotate and revoke API keys");

  commandOnStore(keys, "create", "make a key and print it; it is shown this once")
    .requiredOption("--name <name>", "what the key is for")
    .option("--account <name>", "whose records it sees (default: the project's, or an account of the key's name)")
    .option("--project <project>", "name or id: whose webhooks the results go to")
    .option("--rpm <number>", "requests a minute, instead of the tier's", wholeNumber)
    .option("--concurrency <number>", "submissions executing at once, instead of the tier's", wholeNumber)
    .option("--profiles <names>", "profiles it may use", profileList, ["judge"])
    .option("--default-profile <name>", "the one of them that a submission gets (default: the first)", profile)
    .action((options: CreateOptions) =>
      withStore(options, async (store) => {
        const made = await createKey(store, { ...options, requestsPerMinute: options.rpm }, ACTOR, {
          unnamed: noteUnnamed,
        });
        answer(options.json, made, () => made.key);
      }),
    );

  listing(keys, "keys, newest first")
    .option("--project <project>", "only those of a project, by its name or id")
    .action((options: ListOptions & { project?: string }) =>
      withStore(options, async (store) => {
        const all = await listKeys(store, options);
        noteMore(all, options.limit);
        answer(options.json, all, () =>
          table(["ID", "KEY", "NAME", "ACCOUNT", "PROJECT", "PROFILES", "STATE"], all.map(row)),
        );
      }),
    );

  commandOnStore(keys, "update", "change what a key may do, from its next request on")
    .argument("<key>", WHICH)
    .option("--rpm <number>", "requests a minute; 'tier' for the tier's", limitOrTier)
    .option("--concurrency <number>", "submissions executing at once; 'tier' for the tier's", limitOrTier)
    .option("--profiles <names>", "profiles it may use", profileList)
    .option("--default-profile <name>", "the one of them that a submission gets", profile)
    .action((which: string, options: UpdateOptions) =>
      withStore(options, async (store) => {
        const { profiles, defaultProfile } = options;
        const requestsPerMinute = options.rpm === "tier" ? null : options.rpm;
        const concurrency = options.concurrency === "tier" ? null : options.concurrency;
        const key = await updateKey(store, which, { requestsPerMinute, concurrency, profiles, defaultProfile }, ACTOR);
        answer(options.json, key, () => `changed ${key.prefix}… (${key.name})`);
      }),
    );

  commandOnStore(keys, "rotate", "make a key with the same settings and print it; the old one stops after the overlap")
    .argument("<key>", WHICH)
    .option(
      "--overlap <time>",
      "how long the old one goes on, like 90s, 15m or 7d; 0 for not at all (default: 24h)",
      duration,
    )
    .action((which: string, options: StoreOptions & { overlap?: number }) =>
      withStore(options, async (store) => {
        const { made, old } = await rotateKey(store, which, options.overlap ?? duration(DEFAULT_OVERLAP), ACTOR);
        answer(options.json, { ...made, old }, () => made.key);
        if (!options.json) process.stderr.write(`the old key ${old.prefix}… stops at ${old.expiresAt}\n`);
      }),
    );

  commandOnStore(keys, "revoke", "end a key at once; what it submitted goes on")
    .argument("<key>", WHICH)
    .option("--drop-pending", "end what it submitted and has not begun: status error, IE")
    .action((which: string, options: StoreOptions & { dropPending?: boolean }) =>
      withStore(options, async (store) => {
        const { key, dropped, pending } = await revokeKey(store, which, ACTOR, { drop: options.dropPending });
        const rest = pending === 0 ? "" : `; ${pending} pending submissions will run unless you drop them`;
        const said = `revoked ${key.prefix}… (${key.name})${options.dropPending ? `; ${dropped} dropped` : rest}`;
        answer(options.json, { id: key.id, revoked: true, dropped, pending }, () => said);
      }),
    );

  commandOnStore(keys, "drop-pending", "end what a key submitted and has not begun: status error, IE")
    .argument("<key>", `${WHICH}; it may be revoked`)
    .action((which: string, options: StoreOptions) =>
      withStore(options, async (store) => {
        const { key, dropped } = await dropPendingOfKey(store, which, ACTOR);
        answer(options.json, { id: key.id, dropped }, () => `${dropped} dropped of ${key.prefix}… (${key.name})`);
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
