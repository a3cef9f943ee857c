import { Command } from "commander";
import { listTiers, setTier } from "../admin/tiers.ts";
import { answer, table } from "./answer.ts";
import { wholeNumber } from "./option-values.ts";
import { ACTOR, commandOnStore, type StoreCommandOptions, withStore } from "./with-store.ts";

interface TierOptions {
  readonly rpm: number;
  readonly concurrency: number;
  readonly sandboxes?: number;
  readonly sandboxMemory?: number;
  readonly executions?: number;
  readonly snapshots?: number;
  readonly snapshotBytes?: number;
}

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

  commandOnStore(tiers, "set", "Create a tier, or change it immediately for all accounts that have it.")
    .argument("<name>", "name, such as beta")
    .requiredOption("--rpm <number>", "requests a minute of each key", wholeNumber)
    .requiredOption("--concurrency <number>", "submissions of each key that may run at the same time", wholeNumber)
    .option("--sandboxes <number>", "sandboxes of an account at the same time", wholeNumber)
    .option("--sandbox-memory <bytes>", "memory limits of all sandboxes of an account together", wholeNumber)
    .option(
      "--executions <number>",
      "executions in all sandboxes of an account at the same time; each allows it 64 requests a second",
      wholeNumber,
    )
    .option("--snapshots <number>", "snapshots of sandboxes that an account may have", wholeNumber)
    .option("--snapshot-bytes <bytes>", "bytes of all snapshots of an account together", wholeNumber)
    .action((name: string, options: StoreCommandOptions & TierOptions) =>
      withStore(options, async (store) => {
        const {
          rpm: requestsPerMinute,
          concurrency,
          sandboxes,
          sandboxMemory: sandboxMemoryBytes,
          executions,
          snapshots,
          snapshotBytes,
        } = options;
        const allowance = {
          ...(sandboxes !== undefined && { sandboxes }),
          ...(sandboxMemoryBytes !== undefined && { sandboxMemoryBytes }),
          ...(executions !== undefined && { executions }),
          ...(snapshots !== undefined && { snapshots }),
          ...(snapshotBytes !== undefined && { snapshotBytes }),
        };
        const tier = await setTier(store, { name, requestsPerMinute, concurrency, ...allowance }, ACTOR);
        answer(options.json, tier, () => `${name}: ${requestsPerMinute} requests a minute, ${concurrency} executing`);
      }),
    );

  return tiers;
}
