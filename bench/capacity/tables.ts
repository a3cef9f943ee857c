import type { Loaded } from "../load/measure.ts";
import type { Whole } from "../load/whole.ts";
import { DATABASE_CORES, scenarios, sized } from "./scenarios.ts";
import { type Costs, simulate } from "./simulate.ts";

/** @returns the costs of one submission in the typical load. */
export function costsOf(whole: Whole): Costs {
  const { cpuMs } = typical(whole);
  return { databaseMs: cpuMs.database ?? cpuMs.service, workerMs: cpuMs.boxes + cpuMs.launcher + cpuMs.service };
}

/**
 * @returns the load whose costs are used: with real boxes, `wait=true` and clients, on PostgreSQL if that was measured, with the most
 * records.
 */
export function typical({ loaded }: Whole): Loaded {
  const fit = loaded.filter(({ sandbox, mix, loop }) => sandbox === "real" && mix === "wait" && "clients" in loop);
  const onServer = fit.filter(({ engine }) => engine === "postgres");
  const [most] = (onServer.length > 0 ? onServer : fit).toSorted((a, b) => b.records - a.records);
  if (!most) throw new Error("no load with a real sandbox and wait=true was measured");
  return most;
}

const DAY_SECONDS = 86_400;
const GIGA = 1e9;

/** @returns a table of the machines that each rate needs: a header and its rows. */
export function sizes(whole: Whole): string[][] {
  const costs = costsOf(whole);
  const { walBytes, engine } = typical(whole);
  const [stored] = whole.stored.filter((one) => one.engine === engine).toSorted((a, b) => b.records - a.records);
  const lines = [10, 1_000, 100_000].map((perSecond) => {
    const { shards, cores } = sized(perSecond, costs);
    const daily = stored ? (perSecond * DAY_SECONDS * stored.bytesPerRecord) / GIGA : null;
    return [
      perSecond.toLocaleString("en"),
      String(shards),
      `${(shards * DATABASE_CORES).toLocaleString("en")}`,
      `${(shards * cores).toLocaleString("en")}`,
      walBytes === null ? "–" : `${Number(((perSecond * walBytes) / 1e6).toPrecision(2))} MB/s`,
      daily === null ? "–" : `${Number(daily.toPrecision(2)).toLocaleString("en")} GB`,
      daily === null ? "–" : `${Number((daily * 30).toPrecision(2)).toLocaleString("en")} GB`,
    ];
  });
  return [
    ["submissions/s", "databases", "their cores", "cores of workers", "WAL", "stored a day", "in 30 days"],
    ...lines,
  ];
}

export function simulated(costs: Costs, seed: number): string[][] {
  const percent = (share: number) => `${(100 * share).toFixed(share > 0 && share < 0.01 ? 2 : 0)} %`;
  const ms = (value: number) => String(Number(value.toPrecision(3)));
  const lines = scenarios(costs).map((scenario) => {
    const one = simulate(scenario, costs, seed);
    return [
      one.name,
      `${one.shards} × ${scenario.cores}`,
      `${percent(one.workerUse)} / ${percent(one.busiestWorkerUse)}`,
      `${percent(one.databaseUse)} / ${percent(one.busiestDatabaseUse)}`,
      ms(one.p50WaitMs),
      ms(one.p99WaitMs),
      scenario.hotShare ? ms(one.othersP99WaitMs) : "–",
      percent(one.refusedShare),
      scenario.hotShare ? percent(one.othersRefusedShare) : "–",
    ];
  });
  return [
    [
      "scenario",
      "shards × cores",
      "workers used / busiest",
      "database used / busiest",
      "p50 wait ms",
      "p99 wait ms",
      "p99 of others",
      "503",
      "503 of others",
    ],
    ...lines,
  ];
}
