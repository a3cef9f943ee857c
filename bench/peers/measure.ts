import { setTimeout as sleep } from "node:timers/promises";
import { quantile, table } from "../row.ts";
import type { Client, Judge } from "./judge.ts";
import type { BenchProgram } from "./works.ts";

/** The results of one program with one number of clients, on this service and on one peer. */
export interface PeerRow {
  readonly program: string;
  readonly clients: number;
  /** Times of one program in milliseconds; `cpuMs` is the CPU time of service, launcher and boxes for one program. */
  readonly ours: Figures & { readonly cpuMs: number };
  readonly peer: Figures & { readonly name: string };
  /** How many times better this service is: in p50 with one client, in programs per second with more. */
  readonly ratio: number;
}

interface Figures {
  readonly p50: number;
  readonly p95: number;
  readonly perSecond: number;
}

const ROUNDS = 2;
/** Until V8 has optimized the service's code, a request takes up to 1.6 times the CPU time of later ones. */
const WARM_SECONDS = 30;
const WARM_CLIENTS = 4;
/**
 * A single client measures latency: in a round, it submits so many programs and pauses before each, like a person or an agent, so that
 * neither side is busy. Several clients measure throughput, without pauses.
 */
const PACED = 4;
const PAUSE_MS = 1_000;
/**
 * The fewest programs of each client in a round without pauses. At the end of a round, clients wait for the last one; with few programs,
 * that time would change the result.
 */
const LEAST = 4;

interface Measured {
  readonly times: number[];
  seconds: number;
  cpuMs: number;
}

/** Loads all judges before the first measurement, so that they are as if they had run for a while. */
export async function warmUp(program: BenchProgram, judges: readonly Judge[]): Promise<void> {
  for (const judge of judges)
    await load(judge, program, WARM_CLIENTS, WARM_SECONDS, { times: [], seconds: 0, cpuMs: 0 });
}

/**
 * Measures both sides in two rounds, the second one in the opposite order, so that a change of the machine's speed affects both.
 * `seconds` is the duration of a round.
 */
export async function compare(
  program: BenchProgram,
  clients: number,
  { ours, peer, seconds }: { readonly ours: Judge; readonly peer: Judge; readonly seconds: number },
): Promise<PeerRow> {
  const measured = new Map<Judge, Measured>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const judge of round % 2 === 0 ? [ours, peer] : [peer, ours]) {
      const sum = measured.get(judge) ?? { times: [], seconds: 0, cpuMs: 0 };
      await load(judge, program, clients, seconds, sum);
      measured.set(judge, sum);
    }
  }
  const figures = (judge: Judge) => {
    const { times, seconds: spent } = measured.get(judge) as Measured;
    return { p50: quantile(times, 0.5), p95: quantile(times, 0.95), perSecond: times.length / spent };
  };
  const [here, there] = [figures(ours), figures(peer)];
  const { times, cpuMs } = measured.get(ours) as Measured;
  return {
    program: program.name,
    clients,
    ours: { ...rounded(here), cpuMs: digits(cpuMs / times.length) },
    peer: { name: peer.name, ...rounded(there) },
    ratio: digits(clients === 1 ? there.p50 / here.p50 : here.perSecond / there.perSecond),
  };
}

/** Runs one round with `amount` clients, each with one program at a time, and adds its results to `into`. The last programs are finished. */
async function load(
  judge: Judge,
  { next }: BenchProgram,
  amount: number,
  seconds: number,
  into: Measured,
): Promise<void> {
  const clients: Client[] = await Promise.all(Array.from({ length: amount }, judge.client));
  const one = async (client: Client) => {
    const from = performance.now();
    await client.judge(next());
    into.times.push(performance.now() - from);
  };
  try {
    await Promise.all(clients.map((client) => client.judge(next()))); // warms up
    const cpuBefore = judge.cpuMs() ?? 0;
    const start = performance.now();
    const [single] = clients;
    if (single && amount === 1) {
      for (let done = 0; done < PACED; done++) {
        await sleep(PAUSE_MS);
        await one(single);
      }
    } else {
      const end = start + seconds * 1000;
      await Promise.all(
        clients.map(async (client) => {
          for (let done = 0; done < LEAST || performance.now() < end; done++) await one(client);
        }),
      );
    }
    into.seconds += (performance.now() - start - (amount === 1 ? PACED * PAUSE_MS : 0)) / 1000;
    into.cpuMs += (judge.cpuMs() ?? 0) - cpuBefore;
  } finally {
    for (const client of clients) client.close();
  }
}

function rounded({ p50, p95, perSecond }: Figures): Figures {
  return { p50: digits(p50), p95: digits(p95), perSecond: digits(perSecond) };
}

function digits(value: number): number {
  return Number(value.toPrecision(3));
}

export function peerTable(rows: readonly PeerRow[]): string {
  return table(peerCells(rows));
}

/** @returns the cells of a table with a head. A cell with figures of both sides is `here / peer`. */
export function peerCells(rows: readonly PeerRow[]): string[][] {
  const name = rows[0]?.peer.name ?? "peer";
  const head = ["program", "clients", `p50 ms, here / ${name}`, "p95 ms", "per second", "CPU ms here", "ratio"];
  const pair = ({ ours, peer }: PeerRow, of: keyof Figures) => `${ours[of]} / ${peer[of]}`;
  return [
    head,
    ...rows.map((row) => [
      ...[row.program, String(row.clients), pair(row, "p50"), pair(row, "p95"), pair(row, "perSecond")],
      ...[String(row.ours.cpuMs), String(row.ratio)],
    ]),
  ];
}
