import { table } from "../row.ts";
import type { Loaded } from "./measure.ts";
import type { LoadedBesideBare, Whole } from "./whole.ts";

/** The columns of loads, for the terminal and the documents. */
const HEAD = [
  ...["engine", "sandbox", "records", "services", "keys", "load", "per s", "of bare"],
  ...[
    "submit p50/p95/p99 ms",
    "to the end p50/p95/p99 ms",
    "service",
    "launcher",
    "boxes",
    "database",
    "generator",
    "WAL B",
  ],
];

function cells(cores: number, one: LoadedBesideBare): string[] {
  return [
    one.engine,
    one.sandbox,
    String(one.records),
    String(one.services),
    String(one.keys),
    `${one.mix}, ${"clients" in one.loop ? `${one.loop.clients} clients` : `${one.loop.perSecond}/s`}`,
    `${one.perSecond}${one.fullPerSecond > 0 ? ` (${one.fullPerSecond} full)` : ""}`,
    one.bareCpuMs === null ? "–" : `${Math.round((100 * one.perSecond * one.bareCpuMs) / (1_000 * cores))} %`,
    spread(one.submitMs),
    spread(one.endToEndMs),
    ...[one.cpuMs.service, one.cpuMs.launcher, one.cpuMs.boxes, one.cpuMs.database, one.cpuMs.generator].map(number),
    number(one.walBytes),
  ];
}

/** All tables of one run, by their names in documents. */
export function tablesOf(whole: Whole): Record<"loads" | "idle" | "pending" | "stored", string[][]> {
  const { loaded, idle, pending, stored } = whole;
  const cores = Number(whole.machine.cores);
  return {
    loads: [HEAD, ...loaded.map((one) => cells(cores, one))],
    idle: [
      ["engine", "records", "idle service, of a core", "idle launcher"],
      ...idle.map((one) => [one.engine, String(one.records), percent(one.serviceShare), percent(one.launcherShare)]),
    ],
    pending: [
      ["engine", "pending", "service MB", "at most", "launcher MB a slot"],
      ...pending.map((one) => {
        const bytes = [one.serviceBytes, one.servicePeakBytes, one.launcherBytesPerSlot];
        return [one.engine, String(one.pending), ...bytes.map((amount) => (amount / 1e6).toFixed(1))];
      }),
    ],
    stored: [
      ["engine", "records", "bytes a record"],
      ...stored.map((one) => [one.engine, String(one.records), String(one.bytesPerRecord)]),
    ],
  };
}

/** @returns a sentence with the time, the machine and the floor of the measurement. */
export function origin({ machine, bare }: Whole): string {
  const server = machine.postgres === null ? "SQLite" : `PostgreSQL ${machine.postgres}`;
  const where = `${machine.cores} × ${machine.processor ?? "unknown processor"}, Linux ${machine.kernel}`;
  const floor = `\`python3 -I\` bare: ${number(bare.cpuMs)} ms CPU, ${number(bare.perSecond)}/s`;
  return `${machine.at}: ${server}, Node ${machine.node}, ${where}; ${floor}.`;
}

export function wholeTable(whole: Whole): string {
  const lines = Object.values(tablesOf(whole)).filter(({ length }) => length > 1);
  return [origin(whole), "Under service … generator: CPU ms of each submission.", ...lines.map(table)].join("\n\n");
}

function spread(times: Loaded["submitMs"]): string {
  return times ? [times.p50, times.p95, times.p99].map(number).join(" / ") : "–";
}

function number(value: number | null): string {
  return value === null ? "–" : String(Number(value.toPrecision(3)));
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}
