import type { Costs, Scenario } from "./simulate.ts";

/** The highest average utilisation of cores. Beyond it, waits grow faster than throughput. */
export const USE = 0.7;
/** The number of cores of one database. */
export const DATABASE_CORES = 8;

const COMMON = { accounts: 10_000, maxPending: 1_000, concurrency: 10, databaseCores: DATABASE_CORES };

/** @returns how many shards a rate needs, by the capacity of a database, and how many cores for workers each shard needs. */
export function sized(perSecond: number, costs: Costs): Pick<Scenario, "shards" | "cores"> {
  const shards = Math.max(1, Math.ceil((perSecond * costs.databaseMs) / (1_000 * DATABASE_CORES * USE)));
  const cores = Math.max(2, Math.ceil((perSecond * costs.workerMs) / (1_000 * shards * USE)));
  return { shards, cores };
}

/** @returns scenarios of each rate in normal operation, and then scenarios of failures. */
export function scenarios(costs: Costs): Scenario[] {
  const at = (perSecond: number, seconds: number) => ({ ...COMMON, perSecond, seconds, ...sized(perSecond, costs) });
  const { shards, cores } = sized(1_000, costs);
  const many = { ...at(1_000, 60), shards: 4, cores: Math.ceil((shards * cores) / 4) };
  // The most popular of 10,000 accounts makes a tenth of all submissions, which at 100,000/s exceeds the capacity of
  // one shard.
  const flat = { accounts: 1_000_000, concurrency: 100 };
  const hot = { ...many, concurrency: 100, hotShare: 0.5 };
  return [
    { name: "10/s", ...at(10, 600) },
    { name: "1,000/s", ...at(1_000, 60), concurrency: 100 },
    { name: "100,000/s", ...at(100_000, 6), ...flat },
    { name: "1,000/s, 4 shards", ...many, concurrency: 100 },
    { name: "… a shard lost for 10 s", ...many, concurrency: 100, lostShardSeconds: 10 },
    { name: "… half of a shard's workers lost", ...many, concurrency: 100, lostCores: 0.5 },
    { name: "… one account makes half", ...hot },
    { name: "… and has a quota of 200/s", ...hot, quotaPerSecond: 200 },
  ];
}
