import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { WorkerFlags } from "../src/cli/installed-languages.ts";
import type { Limits } from "../src/domain/limits.ts";
import { profileLimits } from "../src/languages/load.ts";
import { Slot } from "../src/sandbox/slot.ts";
import { helloProgram } from "./launcher.ts";
import { type BenchRow, quantile, timesRow } from "./row.ts";

/** Pause between runs, so that the slot has parked its next box, as in a service that is not saturated. */
const PAUSE_MS = 5;

const MIB = 1_048_576;
const LIMITS: Limits = {
  ...profileLimits(fileURLToPath(new URL("../languages", import.meta.url)), "judge").execute,
  wallMs: 10_000,
  cpuMs: 10_000,
  cpus: 1,
  memoryBytes: 256 * MIB,
  processes: 10,
  fileBytes: MIB,
  openFiles: 32,
  addressSpaceBytes: null,
  stackBytes: 8 * MIB,
  workBytes: 16 * MIB,
  workInodes: 256,
  tmpBytes: 16 * MIB,
  stdoutBytes: 65_536,
  stderrBytes: 65_536,
};

/**
 * Measures a run as the service sees it, from the request to the report of the removal of the box. The floor is the same program without
 * isolation, started by Node's child_process.spawn.
 */
export async function serviceRow(flags: WorkerFlags, socket: string, runs: number): Promise<BenchRow> {
  const program = helloProgram(flags);
  const data = readFileSync(program);
  const slot = await Slot.open(socket);
  const boxed: number[] = [];
  const bare: number[] = [];
  for (let i = -10; i < runs; i++) {
    await sleep(PAUSE_MS);
    const bareMs = await timed(() => spawnBare(program));
    await sleep(PAUSE_MS);
    const boxedMs = await timed(async () => {
      const report = await slot.run({
        command: { command: ["./hello"], env: {} },
        files: [{ name: "hello", data }],
        stdin: Buffer.alloc(0),
        limits: LIMITS,
        work: "fresh",
        more: false,
      });
      if (report.exitCode !== 0 || report.stdout.length === 0) throw new Error("hello did not run as expected");
    });
    if (i < 0) continue; // the first runs warm up
    bare.push(bareMs * 1000);
    boxed.push(boxedMs * 1000);
  }
  slot.close();
  return timesRow("service_warm_box", "us", boxed, quantile(bare, 0.5));
}

async function spawnBare(program: string): Promise<void> {
  const child = spawn(program, { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.resume();
  child.stderr.resume();
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error("the bare hello failed");
}

/** @returns how many milliseconds the work takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
