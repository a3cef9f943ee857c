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
      answer(options.json, all, () =>
        table(["ID", "NAME", "TIER", "RPM", "CONCURRENCY", "CREATED", "STATE"], all.map(row)),
      );
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

  commandOnStore(accounts, "suspend", "refuse the requests of its keys and run nothing of it; what runs ends by itself")
    .argument("<account>", "its name or id")
    .option("--drop-pending", "end what waits: status error, IE; else it waits until the account is resumed")
    .action((which: string, options: StoreOptions & { dropPending?: boolean }) =>
      withStore(options, async (store) => {
        const { id, name: account } = await suspendAccount(store, which, ACTOR);
        const { dropped } = options.dropPending ? await dropPendingOf(store, id, ACTOR) : { dropped: 0 };
        const done = { account, dropped };
        answer(
          options.json,
          { ...done, suspended: true },
          () => `${done.account} is suspended; ${done.dropped} dropped`,
        );
      }),
    );

  commandOnStore(accounts, "resume", "end a suspension")
    .argument("<account>", "its name or id")
    .action((which: string, options: StoreOptions) =>
      withStore(options, async (store) => {
        const account = await resumeAccount(store, which, ACTOR);
        answer(options.json, account, () => `${account.name} is not suspended`);
      }),
    );

  commandOnStore(accounts, "drop-pending", "end what its keys submitted and has not begun: status error, IE")
    .argument("<account>", "its name or id")
    .action((which: string, options: StoreOptions) =>
      withStore(options, async (store) => {
        const done = await dropPendingOf(store, which, ACTOR);
        answer(options.json, done, () => `${done.dropped} dropped of ${done.account}`);
      }),
    );

  return accounts;
}

function row({ id, name, tier, requestsPerMinute, concurrency, createdAt, suspendedAt }: AccountView): string[] {
  const state = suspendedAt === null ? "-" : `suspended ${suspendedAt}`;
  return [id, name, tier, String(requestsPerMinute), String(concurrency), createdAt, state];
}
