import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const CHECKOUT = resolve(import.meta.dirname, "../../..");
/** The part of the CPU time that is left: enough for the start of each runtime. */
const PART = 0.25;

/**
 * Copies the service and languages/ into a directory. There, the profile `agent` has the limits of `judge`, but for the
 * CPU time of programs, so that a busy program does not use four seconds of a core.
 * @returns the copy.
 */
export function withShortCpuTime(directory: string): string {
  const copy = mkdtempSync(join(directory, "short-"));
  chmodSync(copy, 0o755);
  for (const part of ["src", "languages", "package.json"])
    cpSync(join(CHECKOUT, part), join(copy, part), { recursive: true });
  for (const part of ["docs", "launcher", "node_modules"]) symlinkSync(join(CHECKOUT, part), join(copy, part));
  const files = readdirSync(join(copy, "languages"), { recursive: true, encoding: "utf8" });
  for (const file of files.filter((name) => name.endsWith(".json"))) {
    const path = join(copy, "languages", file);
    const data = JSON.parse(readFileSync(path, "utf8"));
    if (data.limits) data.limits.agent = data.limits.judge;
    if (data.judge) {
      const { compile, execute } = data.judge;
      data.agent = { compile, execute: { ...execute, cpuMs: execute.cpuMs * PART } };
    }
    writeFileSync(path, JSON.stringify(data));
  }
  return copy;
}
