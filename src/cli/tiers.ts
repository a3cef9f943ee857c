import { Command, Option } from "commander";
import { listTiers, setTier } from "../admin/tiers.ts";
import { SANDBOX_ALLOWANCE_NAMES, SANDBOX_ALLOWANCES, type SandboxAllowance } from "../domain/sandboxes/allowance.ts";
import { answer, table } from "./answer.ts";
import { wholeNumber } from "./option-values.ts";
import { ACTOR, commandOnStore, type StoreCommandOptions, withStore } from "./with-store.ts";

/** The options of the limits of sandboxes have the names that commander derives from SANDBOX_ALLOWANCES. */
type TierOptions = { readonly rpm: number; readonly concurrency: number } & Readonly<Record<string, unknown>>;

/** `assay tiers`: the limits of keys that have no limits of their own. */
export function tiersCommand(): Command {
  const tiers = new Command("tiers").description("List, create and change tiers.");

  commandOnStore(tiers, "list", "List all tiers.").action((options: StoreCommandOptions) =>
    withStore(options, async (store) => {
      const all = await listTiers(store);
      const rows = all.map((tier) => [
        tier.name,
        String(tier.requestsPerMinute),
        String(tier.concurrency),
        String(tier.sandboxes),
      ]);
      answer(options.json, all, () => table(["NAME", "RPM", "CONCURRENCY", "SANDBOXES"], rows));
    }),
  );

  const set = commandOnStore(tiers, "set", "Create a tier, or change it immediately for all accounts that have it.")
    .argument("<name>", "name, such as beta")
    .requiredOption("--rpm <number>", "requests a minute of each key", wholeNumber)
    .requiredOption("--concurrency <number>", "submissions of each key that may run at the same time", wholeNumber);
  const options = SANDBOX_ALLOWANCE_NAMES.map((name) => {
    const { option, description } = SANDBOX_ALLOWANCES[name];
    const added = new Option(option, description).argParser(wholeNumber);
    set.addOption(added);
    return [name, added.attributeName()] as const;
  });
  set.action((name: string, given: StoreCommandOptions & TierOptions) =>
    withStore(given, async (store) => {
      const { rpm: requestsPerMinute, concurrency } = given;
      const allowance: Partial<SandboxAllowance> = Object.fromEntries(
        options.flatMap(([of, option]) => (given[option] === undefined ? [] : [[of, given[option]]])),
      );
      const tier = await setTier(store, { name, requestsPerMinute, concurrency, ...allowance }, ACTOR);
      answer(given.json, tier, () => `${name}: ${requestsPerMinute} requests a minute, ${concurrency} executing`);
    }),
  );

  return tiers;
}
