import { quantile } from "../row.ts";
import type { BenchDatabase, Counted } from "./database.ts";
import type { LoadPlan, LoadResult } from "./generator.ts";
import { type CpuMs, cpuOf, peakBytes, sharedFairlyBytes, tree, writtenBytes } from "./processes.ts";
import { load, type Sandbox, type Serving } from "./serving.ts";

/** The processes and records of a load. */
export interface LoadTarget {
  readonly there: BenchDatabase;
  readonly sandbox: Sandbox;
  readonly services: readonly Serving[];
  readonly records: number;
}

interface Spread {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** The results of one load. A field is null if there was nothing to measure. */
export interface Loaded {
  readonly engine: string;
  readonly sandbox: string;
  readonly services: number;
  readonly records: number;
  readonly keys: number;
  readonly mix: LoadPlan["mix"];
  readonly loop: LoadPlan["loop"];
  readonly seconds: number;
  readonly perSecond: number;
  /** Requests refused because the queue was full, per second. */
  readonly fullPerSecond: number;
  readonly wrong: LoadResult["wrong"];
  readonly submitMs: Spread | null;
  readonly endToEndMs: Spread | null;
  readonly lateMs: number;
  /** CPU milliseconds for each submission, by the part that uses them. */
  readonly cpuMs: {
    readonly service: number;
    /** The launcher and its slots, without boxes. */
    readonly launcher: number;
    /** The boxes: set-up, program and teardown. */
    readonly boxes: number;
    readonly database: number | null;
    readonly generator: number;
  };
  readonly walBytes: number | null;
  readonly walFlushes: number | null;
  readonly transactions: number | null;
  /** Bytes that the service wrote to storage for each submission: its log, and an embedded database. */
  readonly serviceWrittenBytes: number;
  readonly servicePeakBytes: number;
  readonly launcherSharedFairlyBytes: number;
}

interface Sample {
  readonly service: CpuMs;
  readonly launcher: CpuMs;
  readonly database: CpuMs | null;
  readonly counted: Counted | null;
  readonly written: number;
}

async function sample({ there, sandbox, services }: LoadTarget): Promise<Sample> {
  const pids = services.map(({ pid }) => pid);
  return {
    service: cpuOf(pids),
    launcher: cpuOf([sandbox.pid]),
    database: there.server === null ? null : cpuOf([there.server]),
    counted: await there.counted(),
    written: pids.reduce((sum, pid) => sum + writtenBytes(pid), 0),
  };
}

export async function measure(target: LoadTarget, plan: LoadPlan): Promise<Loaded> {
  const { measured, before, after } = await load(plan, () => sample(target));
  const { done, seconds } = measured;
  const each = (total: number) => digits(total / Math.max(1, done));
  const used = (of: "service" | "launcher") => after[of].ownMs - before[of].ownMs;
  const counted = (of: keyof Counted) =>
    after.counted && before.counted ? each(after.counted[of] - before.counted[of]) : null;
  const databaseMs = after.database && before.database ? total(after.database) - total(before.database) : null;
  return {
    engine: target.there.kind,
    sandbox: target.sandbox.kind,
    services: target.services.length,
    records: target.records,
    keys: plan.keys.length,
    ...{ mix: plan.mix, loop: plan.loop, seconds: digits(seconds) },
    perSecond: digits(done / seconds),
    fullPerSecond: digits(measured.full / seconds),
    wrong: measured.wrong,
    submitMs: spread(measured.submitMs),
    endToEndMs: spread(measured.endToEndMs),
    lateMs: digits(measured.lateMs),
    cpuMs: {
      service: each(used("service")),
      launcher: each(used("launcher")),
      boxes: each(after.launcher.endedMs - before.launcher.endedMs),
      database: databaseMs === null ? null : each(databaseMs),
      generator: each(measured.cpuMs),
    },
    walBytes: counted("walBytes"),
    walFlushes: counted("walFlushes"),
    transactions: counted("transactions"),
    serviceWrittenBytes: each(after.written - before.written),
    servicePeakBytes: Math.max(...target.services.map(({ pid }) => peakBytes(pid))),
    launcherSharedFairlyBytes: tree([target.sandbox.pid]).reduce((sum, pid) => sum + (sharedFairlyBytes(pid) || 0), 0),
  };
}

function total({ ownMs, endedMs }: CpuMs): number {
  return ownMs + endedMs;
}

function spread(times: readonly number[]): Spread | null {
  if (times.length === 0) return null;
  return { p50: digits(quantile(times, 0.5)), p95: digits(quantile(times, 0.95)), p99: digits(quantile(times, 0.99)) };
}

export function digits(value: number): number {
  return Number(value.toPrecision(4));
}
