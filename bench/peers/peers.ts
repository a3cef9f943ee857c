import { dirname, join } from "node:path";
import { installedLanguages } from "../../src/cli/installed-languages.ts";
import { listed } from "../../src/languages/load.ts";
import { makeDatabase } from "../load/database.ts";
import { makePlace, realSandbox, userOf } from "../load/serving.ts";
import { buildGoJudge, startGoJudge } from "./go-judge.ts";
import { compare, type PeerRow, warmUp } from "./measure.ts";
import { startOurs } from "./ours.ts";
import { type BenchProgram, programsOf } from "./works.ts";

export interface PeersOptions {
  readonly image: string;
  readonly launcherSocket: string;
  readonly workers: number;
  /** The directory in which go-judge is built. It is kept for the next measurement. */
  readonly built: string;
  readonly seconds: number;
  readonly clients: readonly number[];
  /** Programs whose names begin with one of these are measured; all programs if the list is empty. */
  readonly programs: readonly string[];
  readonly tell: (words: string) => void;
}

/**
 * Runs `assay bench peers`. @returns the rows; none if go-judge cannot be built, and after a signal those that were measured before it, unless
 * the signal ends this process (end-together.ts).
 */
export async function measurePeers(options: PeersOptions): Promise<PeerRow[]> {
  const { image, launcherSocket, tell, clients } = options;
  const program = await buildGoJudge(options.built);
  if (!program) {
    tell("go-judge is left out: Go is not installed");
    return [];
  }
  const within = dirname(launcherSocket);
  const place = makePlace(within, userOf(launcherSocket));
  const rows: PeerRow[] = [];
  let interrupted = false;
  const interrupt = () => {
    interrupted = true;
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, interrupt);
  try {
    const peer = await startGoJudge(program, join(image, "rootfs"), place.directory);
    try {
      const database = await makeDatabase(undefined, place.directory);
      const ours = await startOurs(place, database, realSandbox(launcherSocket, options.workers));
      try {
        const chosen = ({ name }: BenchProgram) =>
          options.programs.length === 0 || options.programs.some((begin) => name.startsWith(begin));
        const programs = listed(installedLanguages()).flatMap(programsOf).filter(chosen);
        if (programs[0]) await warmUp(programs[0], [ours, peer]);
        for (const one of programs) {
          for (const amount of clients) {
            if (interrupted) return rows;
            try {
              const row = await compare(one, amount, { ours, peer, seconds: options.seconds });
              tell(`${row.program}, ${row.clients} clients: ${row.ratio} times better`);
              rows.push(row);
            } catch (error) {
              // The other rows take half an hour.
              tell(`${one.name}, ${amount} clients: ${(error as Error).message}`);
              process.exitCode = 1;
            }
          }
        }
      } finally {
        await ours.stop();
      }
    } finally {
      await peer.stop();
    }
  } finally {
    place.remove();
  }
  return rows;
}
