import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { encodeStep, type Step } from "../../../src/sandbox/step.ts";
import type { Entries } from "../../../src/sandbox/wire.ts";
import { connected, step, stepFrame } from "../launcher/raw.ts";

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
  /** Whether the neighbour was running at that moment. */
  readonly together: boolean;
}

export type Limits = { readonly memoryBytes: number; readonly processes: number; readonly inodes: number };

export const JUDGE: Limits = { memoryBytes: 256 * MIB, processes: 10, inodes: 4_096 };
export const AGENT: Limits = { memoryBytes: 1024 * MIB, processes: 64, inodes: 65_536 };

/** Runs an honest step in one box while a hostile one runs in the box of another slot. Both are STEP frames. */
export async function beside(socket: string, honest: Buffer, hostile: Buffer): Promise<Meeting> {
  const [quiet, loud] = await Promise.all([connected(socket), connected(socket)]);
  try {
    let together = true;
    loud.send(hostile);
    const neighbour = loud.until("ENDED").then(
      () => {
        together = false;
      },
      () => {}, // its box has ended with the connection
    );
    await sleep(WARM_UP_MS);
    quiet.send(honest);
    const { entries: ended } = await quiet.until("ENDED");
    const meeting = { ended, wallMs: Number(ended.big("WALL_NS")) / 1e6, together };
    loud.close();
    await neighbour;
    return meeting;
  } finally {
    quiet.close();
    loud.close();
  }
}

/** An execute step of the program of neighbours.c. */
export function modeFrame(program: Buffer, mode: string, { memoryBytes, processes, inodes }: Limits): Buffer {
  const entries = step(["./neighbours", mode], {
    MEMORY_BYTES: memoryBytes,
    PROCESSES: processes,
    PROCESSES_RLIMIT: processes + 64,
    OPEN_FILES: 64,
    WALL_MS: 20_000,
    CPU_MS: 60_000,
    CPU_RLIMIT_SECS: 120,
    CPUS: 1,
    KERNEL_BYTES: 128 * MIB,
    WALKABLE_BYTES: 1024 * MIB,
    TMP_BYTES: 64 * MIB,
    TMP_INODES: 4096,
    WORK_INODES: inodes,
  });
  return stepFrame([...entries, ["FILE_NAME", "neighbours"], ["FILE_DATA", program]]);
}

/** A compile step with the limits of its language. */
export function compileFrame(compile: Step): Buffer {
  const { collect: _, ...rest } = compile;
  return Buffer.concat(encodeStep({ ...rest, more: false }));
}
