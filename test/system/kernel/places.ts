import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestContext } from "node:test";

/** The directories of a runner, each of them empty. */
export interface Place {
  readonly all: string;
  readonly tools: string;
  readonly dir: string;
  readonly app: string;
}

export interface Run {
  readonly seconds?: number;
  /** Interrupts at the first output, when the runner handles signals. */
  readonly interrupt?: boolean;
}

export function makePlace(t: TestContext): Place {
  const all = mkdtempSync(join(tmpdir(), "kernel-"));
  t.after(() => rmSync(all, { recursive: true }));
  const [tools, dir, app] = [join(all, "tools"), join(all, "run"), join(all, "app")];
  // The directories next to DIR, into which the tests of a run write.
  for (const directory of [tools, dir, app, join(all, "data"), join(all, "tmp")]) mkdirSync(directory);
  for (const directory of [dir, app]) mkdirSync(join(directory, "languages"));
  return { all, tools, dir, app };
}

/** The output of a runner, its exit code, and the processes that still run after its end. */
export async function run(
  runner: string,
  { all, tools, dir, app }: Place,
  { seconds = 60, interrupt = false }: Run = {},
) {
  return await new Promise<{ code: number; console: string; words: string; left: string[] }>((done) => {
    const path = resolve(import.meta.dirname, runner);
    const child = execFile(path, [tools, dir, app, String(seconds)], (_error, console, words) => {
      done({ code: child.exitCode ?? -1, console, words, left: processesThatName(all) });
    });
    if (interrupt) child.stdout?.once("data", () => child.kill("SIGTERM"));
  });
}

function processesThatName(path: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(path);
    } catch {
      return false; // the process ended meanwhile
    }
  });
}
