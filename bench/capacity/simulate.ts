import { Agenda, random, zipf } from "./chance.ts";
import { Shard, type SimulatedSubmission } from "./shard.ts";

/**
 * A simulation of many workers and databases, with the measured costs of one machine. The popularity of
 * accounts follows Zipf's law, and accounts are sharded by a hash of their id. Each shard is one database with a
 * bounded queue and its own workers, and runs at most `concurrency` submissions of an account at the same time. Requests arrive
 * as a Poisson process. Every submission passes two stations: its shard's database, which serves in order of arrival,
 * then a core of its shard's workers. The seed determines all random numbers.
 */

export interface Costs {
  /** CPU milliseconds of a database core for one submission, which is accepted, run and read back. */
  readonly databaseMs: number;
  /** CPU milliseconds of a worker's core for one submission: box, launcher and the worker's share of the service. */
  readonly workerMs: number;
}

export interface Scenario {
  readonly name: string;
  readonly perSecond: number;
  readonly seconds: number;
  readonly accounts: number;
  readonly shards: number;
  /** Cores of each shard's workers. */
  readonly cores: number;
  /** Cores of each shard's database. */
  readonly databaseCores: number;
  /** Limit of pending submissions of one shard. */
  readonly maxPending: number;
  /** Limit of running submissions of one account. */
  readonly concurrency: number;
  /** The most requests of one account in a second. Further requests get 429, and cost nothing in this simulation. */
  readonly quotaPerSecond?: number;
  /** This share of all arrivals is from the most popular account (the hot one). It also has its share by rank of the other arrivals. */
  readonly hotShare?: number;
  /** After a third of the time, the database of one shard is unavailable for this long. */
  readonly lostShardSeconds?: number;
  /**
   * After a third of the time, one shard loses this share of its workers' cores for good. Their runs are repeated when the lease expires.
   */
  readonly lostCores?: number;
}

export interface SimulationResult {
  readonly name: string;
  readonly perSecond: number;
  readonly shards: number;
  readonly workerUse: number;
  readonly busiestWorkerUse: number;
  readonly databaseUse: number;
  readonly busiestDatabaseUse: number;
  readonly p50WaitMs: number;
  readonly p99WaitMs: number;
  /** The 99th percentile of the wait of submissions of all accounts except the hot one. */
  readonly othersP99WaitMs: number;
  /** The share of requests that get 503, of those that do not get 429. */
  readonly refusedShare: number;
  /** That share for all accounts except the hot one. */
  readonly othersRefusedShare: number;
}

const LEASE_MS = 15_000;

type Event =
  | { readonly kind: "arrival" }
  | { readonly kind: "accepted"; readonly shard: Shard; readonly submission: SimulatedSubmission }
  | { readonly kind: "ended"; readonly shard: Shard; readonly submission: SimulatedSubmission }
  | { readonly kind: "expired"; readonly shard: Shard; readonly submission: SimulatedSubmission }
  | { readonly kind: "lost" };

export function simulate(scenario: Scenario, costs: Costs, seed: number): SimulationResult {
  const chance = random(seed);
  const popular = zipf(scenario.accounts, chance);
  const { hotShare = 0, concurrency, maxPending } = scenario;
  const account = () => (hotShare > 0 && chance() < hotShare ? 0 : popular());
  // Fixed once for each submission: a run takes a little more or less, and one in a hundred takes much more.
  const workMs = () => costs.workerMs * (0.9 + 0.2 * chance()) * (chance() < 0.01 ? 5 : 1);
  const shards = Array.from({ length: scenario.shards }, () => new Shard(scenario.cores, scenario.databaseCores));
  // The shard of an account is a hash of the account and never changes.
  const shardOf = (of: number) => shards[(Math.imul(of + 1, 2_654_435_761) >>> 7) % shards.length] as Shard;
  const agenda = new Agenda<Event>();
  const endMs = scenario.seconds * 1_000;
  const waits: { ms: number; hot: boolean }[] = [];
  const isHot = ({ account: of }: SimulatedSubmission) => hotShare > 0 && of === 0;
  const all = { arrived: 0, refused: 0 };
  const others = { arrived: 0, refused: 0 };
  let inSecond = { second: -1, counts: new Map<number, number>() };
  const overQuota = (of: number, now: number) => {
    const second = Math.floor(now / 1_000);
    if (second !== inSecond.second) inSecond = { second, counts: new Map() };
    const count = (inSecond.counts.get(of) ?? 0) + 1;
    inSecond.counts.set(of, count);
    return count > (scenario.quotaPerSecond ?? Number.POSITIVE_INFINITY);
  };

  const work = (shard: Shard, now: number) => {
    while (shard.busy < shard.cores && now >= shard.awayUntil) {
      const submission = shard.next(concurrency);
      if (!submission) return;
      shard.pending--;
      shard.busy++;
      shard.running.set(submission.account, (shard.running.get(submission.account) ?? 0) + 1);
      waits.push({ ms: now - submission.at, hot: isHot(submission) });
      shard.workerMs += submission.workMs;
      agenda.put(now + submission.workMs, { kind: "ended", shard, submission });
    }
  };
  const enter = (shard: Shard, submission: SimulatedSubmission) => {
    shard.pending++;
    const queue = shard.waiting.get(submission.account) ?? [];
    queue.push(submission);
    shard.waiting.set(submission.account, queue);
  };
  const leave = (shard: Shard, { account: of }: SimulatedSubmission) => {
    shard.running.set(of, (shard.running.get(of) ?? 1) - 1);
  };

  agenda.put(0, { kind: "arrival" });
  if (scenario.lostShardSeconds || scenario.lostCores) agenda.put(endMs / 3, { kind: "lost" });
  for (let event = agenda.take(); event; event = agenda.take()) {
    const { at: now, what } = event;
    if (what.kind === "arrival") {
      if (now >= endMs) continue;
      agenda.put(now - (Math.log(1 - chance()) * 1_000) / scenario.perSecond, { kind: "arrival" });
      const submission = { account: account(), at: now, workMs: workMs() };
      const shard = shardOf(submission.account);
      if (overQuota(submission.account, now)) continue;
      const refused = now < shard.awayUntil || shard.pending >= maxPending;
      for (const counts of isHot(submission) ? [all] : [all, others]) {
        counts.arrived++;
        if (refused) counts.refused++;
      }
      if (!refused) agenda.put(shard.database(now, costs.databaseMs), { kind: "accepted", shard, submission });
    } else if (what.kind === "accepted") {
      enter(what.shard, what.submission);
      work(what.shard, now);
    } else if (what.kind === "ended") {
      leave(what.shard, what.submission);
      // Lost cores do not complete their runs.
      if (what.shard.busy > what.shard.cores) agenda.put(now + LEASE_MS, { ...what, kind: "expired" });
      what.shard.busy--;
      work(what.shard, now);
    } else if (what.kind === "expired") {
      enter(what.shard, what.submission);
      work(what.shard, now);
    } else {
      const shard = shardOf(0); // the shard of the most popular account, which is the worst case
      if (scenario.lostShardSeconds) shard.awayUntil = now + scenario.lostShardSeconds * 1_000;
      if (scenario.lostCores) shard.cores = Math.max(1, Math.round(shard.cores * (1 - scenario.lostCores)));
    }
  }
  const refusedShare = all.refused / all.arrived;
  const othersRefusedShare = others.refused / others.arrived;
  return { ...conclude(scenario, shards, waits, endMs), refusedShare, othersRefusedShare };
}

function conclude(
  { name, perSecond, cores, databaseCores }: Scenario,
  shards: readonly Shard[],
  waits: readonly { readonly ms: number; readonly hot: boolean }[],
  endMs: number,
): Omit<SimulationResult, "refusedShare" | "othersRefusedShare"> {
  const workers = shards.map(({ workerMs }) => workerMs / (cores * endMs));
  const databases = shards.map(({ databaseMs }) => databaseMs / (databaseCores * endMs));
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const all = waits.map(({ ms }) => ms).sort((a, b) => a - b);
  const others = waits
    .filter(({ hot }) => !hot)
    .map(({ ms }) => ms)
    .sort((a, b) => a - b);
  const at = (sorted: readonly number[], share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;
  return {
    ...{ name, perSecond, shards: shards.length },
    workerUse: mean(workers),
    busiestWorkerUse: Math.max(...workers),
    databaseUse: mean(databases),
    busiestDatabaseUse: Math.max(...databases),
    p50WaitMs: at(all, 0.5),
    p99WaitMs: at(all, 0.99),
    othersP99WaitMs: at(others, 0.99),
  };
}
