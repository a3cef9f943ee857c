import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { buildGoJudge, ENCLOSED, startGoJudge } from "../peers/go-judge.ts";
import type { Bench } from "../sandboxes.ts";
import { timed } from "../service.ts";

/** Why a peer was not measured. */
interface Missing {
  readonly note: string;
}

interface GoJudgeTimes {
  /** In ms. */
  readonly executeTrue: readonly number[];
  readonly executeBashEcho: readonly number[];
  /** `true` by several clients, each a second. */
  readonly rate: number;
}

/** Measures go-judge, with the programs of the same image. */
export async function goJudgeTimes(
  { image, built, directory, times }: Bench,
  clients: number,
): Promise<GoJudgeTimes | Missing> {
  const program = await buildGoJudge(built);
  if (!program) return { note: "Go is not installed, so go-judge cannot be built" };
  const peer = await startGoJudge(program, join(image, "rootfs"), directory);
  const repeated = async (amount: number, args: readonly string[]) => {
    const measured: number[] = [];
    for (let at = 0; at < amount; at++) measured.push(await timed(() => peer.execute(args)));
    return measured;
  };
  const [justTrue, echo] = [["/usr/bin/true"], ["/bin/bash", "-c", "echo hello"]];
  try {
    await repeated(times(200, 5), justTrue);
    const executeTrue = await repeated(times(2_000, 20), justTrue);
    const executeBashEcho = await repeated(times(2_000, 20), echo);
    const each = times(1_000, 20);
    const ms = await timed(() => Promise.all(Array.from({ length: clients }, () => repeated(each, justTrue))));
    return { executeTrue, executeBashEcho, rate: (1_000 * clients * each) / ms };
  } finally {
    await peer.stop();
  }
}

/** What podman-times.ts prints, in ms. */
export interface PodmanTimes {
  /** `podman --version`, which is the start of the program and nothing else. */
  readonly version: readonly number[];
  /** A container until it runs. */
  readonly create: readonly number[];
  /** A container that runs `true`, until it is removed. */
  readonly runTrue: readonly number[];
  readonly executeTrue: readonly number[];
  readonly executeBashEcho: readonly number[];
  /** A file of 1 KiB, written and read by a program of the container. */
  readonly file1Kib: readonly number[];
}

/** Measures podman, with the programs of the same image. */
export async function podmanTimes({ image, built, times }: Bench): Promise<PodmanTimes | Missing> {
  const run = promisify(execFile);
  const installed = await run("podman", ["--version"]).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return null;
  });
  if (!installed) return { note: "podman is not installed" };
  mkdirSync(built, { recursive: true });
  const program = fileURLToPath(new URL("./podman-times.ts", import.meta.url));
  const directory = mkdtempSync(join(built, "podman-"));
  const amounts = [times(100, 2), times(200, 3)].map(String);
  try {
    const { stdout } = await run(ENCLOSED, [process.execPath, program, join(image, "rootfs"), directory, ...amounts]);
    return JSON.parse(stdout) as PodmanTimes;
  } finally {
    // The mounts of podman have ended with their namespace. Programs that remove what a container leaves may end a moment later.
    rmSync(directory, { recursive: true, force: true, maxRetries: 20 });
  }
}
