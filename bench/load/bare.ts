import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";

const schema = z.object({ perSecond: z.number().positive(), cpuMs: z.number().positive() });

/** The floor: `python3 -I` in the image without a box, on every CPU at the same time. `cpuMs` is the CPU time of one run. */
export type Bare = z.output<typeof schema>;

export async function barePython(image: string, code: string, seconds: number): Promise<Bare> {
  const directory = mkdtempSync(join(tmpdir(), "assay-bare-"));
  const [plan, sources] = [join(directory, "plan.json"), join(directory, "sources")];
  mkdirSync(sources);
  writeFileSync(join(sources, "main.py"), code);
  writeFileSync(plan, JSON.stringify({ seconds, cores: availableParallelism() }));
  const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));
  try {
    const args = [join(image, "rootfs"), plan, sources, here("bare-cpu.mjs")];
    const { stdout } = await promisify(execFile)(here("../bare.sh"), args);
    return schema.parse(JSON.parse(stdout));
  } finally {
    rmSync(directory, { recursive: true });
  }
}
