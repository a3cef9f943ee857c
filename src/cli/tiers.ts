import { Command } from "commander";
import { listTiers, setTier } from "../admin/tiers.ts";
import { answer, table } from "./answer.ts";
import { wholeNumber } from "./option-values.ts";
import { ACTOR, type DataOption, withStore } from "./with-store.ts";

interface Options extends DataOption {
  readonly json?: boolean;
}

/** `assay tiers`: limits of the keys that have none of their own. */
export function tiersCommand(): Command {
  const tiers = new Command("tiers").description("list the tiers, make them and change their limits");

  tiers
    .command("list")
    .description("all tiers")
    .option("--json", "as JSON")
    .option("--data <directory>", "data directory")
    .action((options: Options) =>
      withStore(options, async (store) => {
        const all = await listTiers(store);
        const rows = all.map((tier) => [tier.name, String(tier.requestsPerMinute), String(tier.concurrency)]);
        answer(options.json, all, () => table(["NAME", "RPM", "CONCURRENCY"], rows));
      }),
    );

  tiers
    .command("set")
    .description("make a tier, or change it for all of its accounts at once")
    .argument("<name>", "such as beta")
    .requiredOption("--rpm <number>", "requests a minute of each key", wholeNumber)
    .requiredOption("--concurrency <number>", "submissions of each key executing at once", wholeNumber)
    .option("--json", "as JSON")
    .option("--data <directory>", "data directory")
    .action((name: string, options: Options & { rpm: number; concurrency: number }) =>
      withStore(options, async (store) => {
        const { rpm: requestsPerMinute, concurrency } = options;
        const tier = await setTier(store, { name, requestsPerMinute, concurrency }, ACTOR);
        answer(options.json, tier, () => `${name}: ${requestsPerMinute} requests a minute, ${concurrency} executing`);
      }),
    );

  return tiers;
}
