import { availableParallelism, totalmem } from "node:os";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeDatabase } from "./load/database.ts";
import { makeKeys, makePlace, realSandbox, startServing, userOf } from "./load/serving.ts";
import { table } from "./row.ts";
import { Agent } from "./sandboxes/agent.ts";
import { type NetworkTarget, policyFor, startNetworkTarget } from "./sandboxes/network.ts";
import { ROWS } from "./sandboxes/rows.ts";

export interface SandboxesOptions {
  readonly launcherSocket: string;
  readonly image: string;
  /** The directory of the launcher's option --egress; without it, sandboxes have no network. */
  readonly egressDirectory?: string;
  /** The directory in which go-judge is built. It is kept for the next measurement. */
  readonly built: string;
  /** A PostgreSQL server; SQLite if undefined. */
  readonly database?: string;
  /** Rows whose names begin with one of these are measured; all rows if the list is empty. */
  readonly only: readonly string[];
  /** Whether each row has so few measurements that the command ends within a minute or two: to see whether it works. */
  readonly quick: boolean;
  /** Idle sandboxes at once; what the launcher and the memory of the machine admit if undefined. */
  readonly idle?: number;
  /** How many sandboxes the launcher of this command has, and the bytes of memory of all of them. */
  readonly capacity: { readonly sandboxes: number; readonly memoryBytes: number };
  readonly tell: (words: string) => void;
}

/** One figure with its target. */
export interface SandboxRow {
  readonly name: string;
  readonly unit: "ms" | "1/s" | "MB/s" | "MB" | "%" | "ratio" | "count";
  /** The median, or the only value; null if it was not measured. */
  readonly value: number | null;
  readonly p99: number | null;
  /** The target of the row, in words. */
  readonly target: string;
  /** Whether the target is reached; null if the row has none, or was not measured. */
  readonly reached: boolean | null;
  /** The same work without a sandbox, or by another program, in the same run. */
  readonly floor: { readonly name: string; readonly value: number; readonly p99: number | null } | null;
  /** Why it was not measured, or what else a reader should know. */
  readonly note: string | null;
}

/** What the rows of `assay bench sandboxes` measure with. */
export interface Bench extends Pick<SandboxesOptions, "quick" | "tell" | "capacity" | "idle" | "image" | "built"> {
  readonly agent: Agent;
  /** A second account, whose work is measured next to that of the first one. */
  readonly other: Agent;
  readonly servicePid: number;
  readonly launcherPid: number;
  /** The directory of the service, for programs that are measured next to it. */
  readonly directory: string;
  /** What the sandboxes of `agent` may reach; null: they have no network. */
  readonly network: NetworkTarget | null;
  /** `few` with --quick, otherwise `many`. */
  readonly times: (many: number, few: number) => number;
}

/** What an account of the benchmark may have: more than any row needs. */
const ALLOWANCE = {
  sandboxes: 4_000,
  sandboxDiskBytes: 2 ** 40,
  executions: 1_000,
  snapshots: 1_000,
  snapshotBytes: 2 ** 40,
};

/** The longest measurement, which is that of leaks, takes a few minutes. */
const LONGEST_MS = 1_200_000;

/** Measures the rows over HTTPS on loopback, with durable storage, in one run. A row that fails has the error as its note. */
export async function measureSandboxes(options: SandboxesOptions): Promise<SandboxRow[]> {
  const { launcherSocket, database, only, capacity, quick, tell } = options;
  const place = makePlace(dirname(launcherSocket), userOf(launcherSocket));
  const there = await makeDatabase(database, place.directory);
  const rows: SandboxRow[] = [];
  const network = await startNetworkTarget(options.egressDirectory);
  try {
    const sandboxMemoryBytes = capacity.memoryBytes;
    const allowance = { ...ALLOWANCE, sandboxMemoryBytes };
    const keys = [
      await makeKeys(there, 1, "agents", {
        profiles: ["agent", "judge"],
        allowance,
        network: network && policyFor(network),
      }),
      await makeKeys(there, 1, "other", { profiles: ["agent", "judge"], allowance }),
    ];
    place.own();
    const env = {
      ASSAY_SANDBOXES: String(capacity.sandboxes),
      ASSAY_SANDBOX_MEMORY: String(sandboxMemoryBytes),
      ...(network
        ? { ASSAY_EGRESS_DIRECTORY: network.directory, ASSAY_EGRESS_PRIVATE: `${network.address}/32` }
        : { ASSAY_EGRESS: "no" }),
    };
    const launcher = realSandbox(launcherSocket, availableParallelism());
    const serving = await startServing(place, there, launcher, env);
    try {
      const agents = keys.map(([key = ""]) => new Agent({ port: serving.port, ca: place.ca, key }));
      const [agent, other] = agents as [Agent, Agent];
      const bench: Bench = {
        ...options,
        ...{ agent, other, servicePid: serving.pid, launcherPid: launcher.pid, directory: place.directory, network },
        times: (many, few) => (quick ? few : many),
      };
      for (const [name, measure] of Object.entries(ROWS)) {
        if (only.length > 0 && !only.some((begin) => name.startsWith(begin))) continue;
        const before = rows.length;
        try {
          rows.push(...(await inTime(measure(bench))));
        } catch (error) {
          rows.push(unmeasured(name, `it failed: ${(error as Error).message}`));
          process.exitCode = 1;
        }
        for (const one of agents) await one.endAll();
        tell(sandboxTable(rows.slice(before)));
      }
      for (const one of agents) one.close();
    } finally {
      await serving.stop();
    }
  } finally {
    network?.stop();
    await there.drop();
    place.remove();
  }
  return rows;
}

/** @throws if a measurement does not end, so that the others are made nevertheless. */
async function inTime<T>(measured: Promise<T>): Promise<T> {
  const over = new AbortController();
  const late = sleep(LONGEST_MS, undefined, { signal: over.signal }).then(() => {
    throw new Error(`it did not end within ${LONGEST_MS / 60_000} minutes`);
  });
  late.catch(() => {}); // aborted below
  return await Promise.race([measured, late]).finally(() => over.abort());
}

/** A row without a figure. */
export function unmeasured(name: string, note: string, target = "–"): SandboxRow {
  return { name, unit: "count", value: null, p99: null, target, reached: null, floor: null, note };
}

/** How many sandboxes a machine can have next to the service, by its memory, if each of them takes so much. */
export function admittedSandboxes(most: number, bytesEach: number, totalBytes: number = totalmem()): number {
  return Math.max(1, Math.min(most, Math.floor(totalBytes / 4 / bytesEach)));
}

export function sandboxTable(rows: readonly SandboxRow[]): string {
  const digits = (value: number | null) => (value === null ? "–" : String(Number(value.toPrecision(3))));
  const pair = (value: number | null, p99: number | null) =>
    [digits(value), ...(p99 === null ? [] : [digits(p99)])].join(" / ");
  const cells = rows.map(({ name, unit, value, p99, target, reached, floor, note }) => [
    name,
    value === null ? "–" : `${pair(value, p99)} ${unit}`,
    target,
    reached === null ? "–" : reached ? "yes" : "no",
    floor ? `${floor.name}: ${pair(floor.value, floor.p99)}` : "–",
    note ?? "",
  ]);
  return table([["row", "p50 / p99", "target", "reached", "floor", "note"], ...cells]);
}
