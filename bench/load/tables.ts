import { table } from "../row.ts";
import type { Loaded } from "./measure.ts";
import type { Whole } from "./whole.ts";

/** Cells of each load: the same on the terminal and in documents. */
export const HEAD = [
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

export function cells(whole: Whole): string[][] {
  return whole.loaded.map((one) => [
    one.engine,
    one.sandbox,
    String(one.records),
    String(one.services),
    String(one.keys),
    `${one.mix}, ${"clients" in one.loop ? `${one.loop.clients} clients` : `${one.loop.perSecond}/s`}`,
    `${one.perSecond}${one.fullPerSecond > 0 ? ` (${one.fullPerSecond} full)` : ""}`,
    one.sandbox === "real" ? `${Math.round(100 * shareOfBare(whole, one))} %` : "–",
    spread(one.submitMs),
    spread(one.endToEndMs),
    ...[one.cpuMs.service, one.cpuMs.launcher, one.cpuMs.boxes, one.cpuMs.database, one.cpuMs.generator].map(number),
    number(one.walBytes),
  ]);
}

/** How much of all cores the bare runs of as many programs would have taken. */
export function shareOfBare({ bare, machine }: Whole, { perSecond }: Loaded): number {
  return (perSecond * bare.cpuMs) / (1_000 * Number(machine.cores));
}

export function wholeTable(whole: Whole): string {
  return [
    table([HEAD, ...cells(whole)]),
    `CPU ms of each submission: service, launcher, boxes, database, generator. Bare: ${number(whole.bare.cpuMs)} ms, ${number(whole.bare.perSecond)}/s.`,
    table([
      ["engine", "records", "idle service, of a core", "idle launcher"],
      ...whole.idle.map((one) => [
        one.engine,
        String(one.records),
        percent(one.serviceShare),
        percent(one.launcherShare),
      ]),
    ]),
    table([
      ["engine", "pending", "service MB", "at most", "launcher MB a slot"],
      ...whole.pending.map((one) => [
        one.engine,
        String(one.pending),
        ...[one.serviceBytes, one.servicePeakBytes, one.launcherBytesPerSlot].map(megabytes),
      ]),
    ]),
    table([
      ["engine", "records", "bytes a record"],
      ...whole.stored.map((one) => [one.engine, String(one.records), String(one.bytesPerRecord)]),
    ]),
  ].join("\n\n");
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

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
