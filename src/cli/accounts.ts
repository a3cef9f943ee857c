import { Command } from "commander";
import { type AccountView, createAccount, eraseRecords, listAccounts, updateAccount } from "../admin/accounts.ts";
import { answer, table } from "./answer.ts";
import { ACTOR, commandOnStore, type StoreOptions, withStore } from "./with-store.ts";

/** `assay accounts`: whose the records, projects and keys are. */
export function accountsCommand(): Command {
  const accounts = new Command("accounts").description("make and list accounts, and choose their tiers");

  commandOnStore(accounts, "create", "make an account; keys and projects make theirs by themselves")
    .requiredOption("--name <name>", "its name, unique")
    .option("--tier <name>", "limits of its keys", "beta")
    .action((options: StoreOptions & { name: string; tier: string }) =>
      withStore(options, async (store) => {
        const account = await createAccount(store, options, ACTOR);
        answer(options.json, account, () => account.id);
      }),
    );

  commandOnStore(accounts, "list", "all accounts, oldest first").action((options: StoreOptions) =>
    withStore(options, async (store) => {
      const all = await listAccounts(store);
      answer(options.json, all, () => table(["ID", "NAME", "TIER", "RPM", "CONCURRENCY", "CREATED"], all.map(row)));
    }),
  );

  commandOnStore(accounts, "rename", "give it another name; what belongs to it stays")
    .argument("<account>", "its name or id")
    .argument("<name>", "the new name")
    .action((which: string, name: string, options: StoreOptions) =>
      withStore(options, async (store) => {
        const account = await updateAccount(store, which, { name }, ACTOR);
        answer(options.json, account, () => `renamed to ${account.name}`);
      }),
    );

  commandOnStore(accounts, "set-tier", "change the limits of its keys, at once")
    .argument("<account>", "its name or id")
    .argument("<tier>", "see assay tiers list")
    .action((which: string, tier: string, options: StoreOptions) =>
      withStore(options, async (store) => {
        const account = await updateAccount(store, which, { tier }, ACTOR);
        answer(options.json, account, () => `${account.name} has the tier ${account.tier}`);
      }),
    );

  commandOnStore(accounts, "erase", "remove all records of its submissions that have ended, for good")
    .argument("<account>", "its name or id")
    .requiredOption("--yes", "there is no way back")
    .action((which: string, options: StoreOptions) =>
      withStore(options, async (store) => {
        const done = await eraseRecords(store, which, ACTOR);
        const stay = done.notEnded === 0 ? "" : `; ${done.notEnded} that have not ended stay`;
        answer(options.json, done, () => `${done.erased} records of ${done.account} are gone${stay}`);
      }),
    );

  return accounts;
}

function row({ id, name, tier, requestsPerMinute, concurrency, createdAt }: AccountView): string[] {
  return [id, name, tier, String(requestsPerMinute), String(concurrency), createdAt];
}
