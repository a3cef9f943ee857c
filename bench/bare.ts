import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";

type Commands = readonly (readonly string[])[];

/** A program for runs without a box, in a directory of its own with its source. */
export interface BareProgram {
  readonly name: string;
  readonly source: string;
  readonly code: string;
  /** Commands that run once, before the others, and are not measured. */
  readonly before: Commands;
  readonly commands: Commands;
}

const measured = z.record(z.string(), z.object({ times: z.array(z.number()), cpuMs: z.number() }));

/**
 * Runs each program `runs` times in the image without a box, as root.
 * @returns for each program, by its name: how long each run of all its commands took (`times`), and the mean CPU time of such a run
 * (`cpuMs`), in milliseconds.
 */
export async function bareRuns(
  image: string,
  programs: readonly BareProgram[],
  runs: number,
): Promise<z.output<typeof measured>> {
  const directory = mkdtempSync(join(tmpdir(), "assay-bare-"));
  const sources = join(directory, "sources");
  for (const { name, source, code } of programs) {
    const path = join(sources, name, source);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, code);
  }
  const plan = { runs, programs: programs.map(({ name, before, commands }) => ({ name, before, commands })) };
  writeFileSync(join(directory, "plan.json"), JSON.stringify(plan));
  const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));
  try {
    const { stdout } = await promisify(execFile)(here("bare.sh"), [
      join(image, "rootfs"),
      join(directory, "plan.json"),
      sources,
      here("bare.mjs"),
    ]);
    return measured.parse(JSON.parse(stdout));
  } finally {
    rmSync(directory, { recursive: true });
  }
}
