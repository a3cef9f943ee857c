import { Command } from "commander";
import {
  type AccountView,
  createAccount,
  dropPendingOf,
  eraseRecords,
  listAccounts,
  resumeAccount,
  suspendAccount,
  updateAccount,
} from "../admin/accounts.ts";
import { answer, table } from "./answer.ts";
import { ACTOR, commandOnStore, type StoreCommandOptions, withStore } from "./with-store.ts";

/** `assay accounts`: accounts, which own records, projects and keys. */
export function accountsCommand(): Command {
  const accounts = new Command("accounts").description(
    "Create and list accounts, change their tiers, and suspend them.",
  );

  commandOnStore(
    accounts,
    "create",
    "Create an account and print its id. Keys and projects create their accounts automatically; use this command to start with another tier.",
  )
    .requiredOption("--name <name>", "unique name")
    .option("--tier <name>", "tier that sets the default limits of the keys of the account", "beta")
    .action((options: StoreCommandOptions & { name: string; tier: string }) =>
      withStore(options, async (store) => {
        const account = await createAccount(store, options, ACTOR);
        answer(options.json, account, () => account.id);
      }),
    );

  commandOnStore(accounts, "list", "List all accounts with their tiers and limits, oldest first.").action(
    (options: StoreCommandOptions) =>
      withStore(options, async (store) => {
        const all = await listAccounts(store);
        answer(options.json, all, () =>
          table(["ID", "NAME", "TIER", "RPM", "CONCURRENCY", "CREATED", "STATE"], all.map(row)),
        );
      }),
  );

  commandOnStore(accounts, "rename", "Rename an account. Its projects, keys and records are kept.")
    .argument("<account>", "name or id")
    .argument("<name>", "new name")
    .action((which: string, name: string, options: StoreCommandOptions) =>
      withStore(options, async (store) => {
        const account = await updateAccount(store, which, { name }, ACTOR);
        answer(options.json, account, () => `renamed to ${account.name}`);
      }),
    );

  commandOnStore(accounts, "set-tier", "Change the tier of an account, and so the limits of its keys, immediately.")
    .argument("<account>", "name or id")
    .argument("<tier>", "one of assay tiers list")
    .action((which: string, tier: string, options: StoreCommandOptions) =>
      withStore(options, async (store) => {
        const account = await updateAccount(store, which, { tier }, ACTOR);
        answer(options.json, account, () => `${account.name} has the tier ${account.tier}`);
      }),
    );

  commandOnStore(
    accounts,
    "erase",
    "Delete all ended submissions and judgements of an account with their programs, outputs and deliveries, and its problems. The account, its projects and keys, and the counts in the dashboard charts are kept.",
  )
    .argument("<account>", "name or id")
    .requiredOption("--yes", "confirm; deletion cannot be undone")
    .action((which: string, options: StoreCommandOptions) =>
      withStore(options, async (store) => {
        const done = await eraseRecords(store, which, ACTOR);
        const stay = done.notEnded === 0 ? "" : `; ${done.notEnded} unfinished submissions stay`;
        answer(options.json, done, () => `${done.erased} records of ${done.account} deleted${stay}`);
      }),
    );

  commandOnStore(
    accounts,
    "suspend",
    "Answer every request of the keys of an account with 403 and start none of its submissions, immediately. Running submissions finish. Pending submissions stay in the queue until the account is resumed. Members can still read records in the dashboard, but cannot run programs.",
  )
    .argument("<account>", "name or id")
    .option("--drop-pending", "also end the pending submissions: status error, verdict IE")
    .action((which: string, options: StoreCommandOptions & { dropPending?: boolean }) =>
      withStore(options, async (store) => {
        const { id, name: account } = await suspendAccount(store, which, ACTOR);
        const { dropped } = options.dropPending ? await dropPendingOf(store, id, ACTOR) : { dropped: 0 };
        const done = { account, dropped };
        answer(
          options.json,
          { ...done, suspended: true },
          () => `${done.account} is suspended; ${done.dropped} pending submissions dropped`,
        );
      }),
    );

  commandOnStore(accounts, "resume", "End a suspension. Keys work again and pending submissions run.")
    .argument("<account>", "name or id")
    .action((which: string, options: StoreCommandOptions) =>
      withStore(options, async (store) => {
        const account = await resumeAccount(store, which, ACTOR);
        answer(options.json, account, () => `${account.name} is not suspended`);
      }),
    );

  commandOnStore(
    accounts,
    "drop-pending",
    'End every pending submission of an account with status error, verdict IE and the message "dropped by the operator before it ran". Webhooks receive these results. Submissions accepted during the command stay.',
  )
    .argument("<account>", "name or id")
    .action((which: string, options: StoreCommandOptions) =>
      withStore(options, async (store) => {
        const done = await dropPendingOf(store, which, ACTOR);
        answer(options.json, done, () => `${done.dropped} pending submissions of ${done.account} dropped`);
      }),
    );

  return accounts;
}

function row({ id, name, tier, requestsPerMinute, concurrency, createdAt, suspendedAt }: AccountView): string[] {
  const state = suspendedAt === null ? "-" : `suspended ${suspendedAt}`;
  return [id, name, tier, String(requestsPerMinute), String(concurrency), createdAt, state];
}
