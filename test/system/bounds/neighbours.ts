import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { UNLIMITED } from "../../../src/sandbox/protocol.ts";
import type { Entries } from "../../../src/sandbox/wire.ts";
import { connected, run, step } from "../launcher/raw.ts";

const MIB = 1_048_576;

/** Time for the neighbour to start all of its processes. */
const WARM_UP_MS = 150;

/** Builds the static program of neighbours.c. */
export function buildNeighbours(): Buffer {
  const directory = mkdtempSync(join(tmpdir(), "neighbours-"));
  try {
    const program = join(directory, "neighbours");
    execFileSync("gcc", ["-O2", "-static", "-pthread", "-Wall", "-Werror", "-o", program, SOURCE]);
    return readFileSync(program);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
const SOURCE = new URL("./neighbours.c", import.meta.url).pathname;

export interface Meeting {
  /** The end of the honest program. */
  readonly ended: Entries;
  readonly wallMs: number;
  readonly cpuMs: number;
}

/** Limits of a box. `cpus`: the number of CPUs to which it is bound; null for no binding. */
export type Limits = { readonly cpus: number | null; readonly memoryBytes: number; readonly processes: number };

export const JUDGE: Limits = { cpus: 1, memoryBytes: 256 * MIB, processes: 10 };
export const AGENT: Limits = { cpus: 1, memoryBytes: 1024 * MIB, processes: 64 };

/** Runs an honest program in one box while a hostile one runs in the box of another slot. */
export async function beside(
  socket: string,
  program: Buffer,
  honest: string,
  hostile: string | null,
  limits: Limits,
): Promise<Meeting> {
  const [quiet, loud] = await Promise.all([connected(socket), connected(socket)]);
  try {
    const neighbour = hostile && run(loud, steps(program, hostile, limits)).catch(() => null);
    await sleep(WARM_UP_MS);
    const { ended } = await run(quiet, steps(program, honest, limits));
    loud.close(); // its box ends with the connection
    await neighbour;
    return { ended, wallMs: Number(ended.big("WALL_NS")) / 1e6, cpuMs: ended.int("CPU_USEC") / 1000 };
  } finally {
    quiet.close();
    loud.close();
  }
}

function steps(program: Buffer, mode: string, { cpus, memoryBytes, processes }: Limits) {
  const entries = step(["./neighbours", mode], {
    MEMORY_BYTES: memoryBytes,
    PROCESSES: processes,
    PROCESSES_RLIMIT: processes + 64,
    OPEN_FILES: 64,
    WALL_MS: 20_000,
    CPU_MS: 60_000,
    CPU_RLIMIT_SECS: 120,
    CPUS: cpus ?? UNLIMITED,
    KERNEL_BYTES: 128 * 1_048_576,
    TMP_BYTES: 64 * MIB,
    TMP_INODES: 4096,
  });
  return [...entries, ["FILE_NAME", "neighbours"] as const, ["FILE_DATA", program] as const];
}
