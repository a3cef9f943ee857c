import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import type { WorkerFlags } from "../src/cli/installed-languages.ts";
import { type BenchRow, finished, ratesRow } from "./row.ts";

const spread = z.object({ median: z.number(), p99: z.number() });
const resultSchema = z.object({
  bare_us: spread,
  warm_us: spread,
  torn_us: spread,
  sampled_us: spread,
  unsampled_us: spread,
  bare_per_second: z.array(z.number()),
  boxes_per_second: z.array(z.number()),
});

/** @returns the path of the static program that runs with and without a box; it is built with the launcher. */
export function helloProgram(flags: WorkerFlags): string {
  return join(dirname(flags.launcher), "bench-hello");
}

/** Measures rows by assay-bench, a program with the code of the launcher (launcher/bench.c): without socket and service. */
export async function launcherRows(flags: WorkerFlags, runs: number): Promise<BenchRow[]> {
  const { stdout } = await promisify(execFile)(join(dirname(flags.launcher), "assay-bench.delegated"), [
    "--runs",
    String(runs),
    "--program",
    helloProgram(flags),
    "--image",
    join(flags.image, "rootfs"),
    "--instance",
    `${flags.instance}-bench`,
    "--uid-base",
    flags.uidBase,
  ]);
  const {
    bare_us: bare,
    warm_us: warm,
    torn_us: torn,
    sampled_us: sampled,
    ...rest
  } = resultSchema.parse(JSON.parse(stdout));
  return [
    finished({ name: "launcher_warm_box", unit: "us", ...warm, floor: bare.median }),
    finished({ name: "launcher_warm_box_until_torn", unit: "us", ...torn, floor: bare.median }),
    finished({ name: "slot_cpu_of_sampled_second", unit: "us", ...sampled, floor: rest.unsampled_us.median }),
    ratesRow("saturated_boxes", rest.boxes_per_second, rest.bare_per_second),
  ];
}
