import { type ChildProcess, fork } from "node:child_process";
import { availableParallelism } from "node:os";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { LoadConnection } from "./load/connection.ts";
import { makeDatabase } from "./load/database.ts";
import { makeKeys, makePlace, realSandbox, startServing, userOf } from "./load/serving.ts";
import { quantile, table } from "./row.ts";

/** What the flooding account sends at full speed (floods/flood.ts). Its limit of requests is too high to have an effect. */
export const FLOODS = ["hello", "judge0_list", "mcp_list", "mcp_judge", "piston_sockets"] as const;
export type Flood = (typeof FLOODS)[number];

/** What a flooding process receives at its start. */
export interface FloodPlan {
  readonly flood: Flood;
  readonly port: number;
  readonly ca: string;
  readonly key: string;
}

/** The latency of a hello world in Python of one account in ms, alone and during a flood of another account, in the same run. */
export interface FloodRow {
  readonly flood: Flood;
  readonly alone: { readonly p50: number; readonly p99: number };
  readonly beside: { readonly p50: number; readonly p99: number };
  /** p99 beside / p99 alone. */
  readonly ratio: number;
}

const ROUNDS = 5;
const HELLOS = 60;
/** A round ends after this time even if it has had fewer hellos, so that all floods together take five minutes. */
const ROUND_MS = 4_000;

/**
 * Measures each flood. The honest client sends one program at a time. Rounds without and with the flood alternate, so that a change of
 * the machine's speed affects both. The flood `hello` is the control: its runs compete with those of the honest client as in the other
 * floods of runs, but its requests are small.
 */
export async function measureFloods(
  { launcherSocket }: { readonly launcherSocket: string },
  tell: (words: string) => void,
): Promise<FloodRow[]> {
  const user = userOf(launcherSocket);
  const place = makePlace(dirname(launcherSocket), user);
  const there = await makeDatabase(undefined, place.directory);
  const rows: FloodRow[] = [];
  try {
    const [honest = ""] = await makeKeys(there, 1, "honest");
    const [busy = ""] = await makeKeys(there, 1, "busy");
    place.own();
    const serving = await startServing(place, there, realSandbox(launcherSocket, availableParallelism()));
    try {
      const client = await LoadConnection.open(serving.port, place.ca, honest);
      const hellos = async () => {
        const times: number[] = [];
        const end = performance.now() + ROUND_MS;
        for (let at = 0; at < HELLOS && performance.now() < end; at++) times.push(await hello(client));
        return times;
      };
      await hellos();
      for (const flood of FLOODS) {
        const times = { alone: [] as number[], beside: [] as number[] };
        for (let round = 0; round < ROUNDS; round++) {
          times.alone.push(...(await hellos()));
          const child = await start({ flood, port: serving.port, ca: place.ca, key: busy });
          try {
            times.beside.push(...(await hellos()));
          } finally {
            await stop(child);
          }
          await sleep(1_000); // the last runs of the flood end meanwhile
        }
        const of = (some: readonly number[]) => ({ p50: quantile(some, 0.5), p99: quantile(some, 0.99) });
        const [alone, beside] = [of(times.alone), of(times.beside)];
        rows.push({ flood, alone, beside, ratio: beside.p99 / alone.p99 });
        tell(floodTable(rows.slice(-1)));
      }
      client.end();
    } finally {
      await serving.stop();
    }
  } finally {
    await there.drop();
    place.remove();
  }
  return rows;
}

async function hello(client: LoadConnection): Promise<number> {
  const body = { language: "python", code: `print("hello") # ${Math.random()}` };
  const begun = performance.now();
  const { status, text } = await client.ask("POST", "/api/submit?wait=true", Buffer.from(JSON.stringify(body)));
  if (status !== 200 || !text.includes('"verdict":"AC"')) throw new Error(`the hello failed: ${status} ${text}`);
  return performance.now() - begun;
}

async function start(plan: FloodPlan): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL("./floods/flood.ts", import.meta.url)));
  const begun = new Promise<void>((resolve, reject) => {
    child.once("message", () => resolve());
    child.once("exit", (code) => reject(new Error(`the flood ${plan.flood} ended with ${code}`)));
  });
  child.send(plan);
  await begun;
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) throw new Error("the flood ended early");
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await exited;
}

export function floodTable(rows: readonly FloodRow[]): string {
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  const cells = rows.map(({ flood, alone, beside, ratio }) => [
    flood,
    ...[alone.p50, alone.p99, beside.p50, beside.p99].map(ms),
    ratio.toFixed(2),
  ]);
  return table([["flood", "p50 alone", "p99 alone", "p50 beside", "p99 beside", "p99 ratio"], ...cells]);
}
