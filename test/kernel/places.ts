import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestContext } from "node:test";

/** What a runner is given, each of it empty. */
export interface Place {
  readonly all: string;
  readonly tools: string;
  readonly dir: string;
  readonly app: string;
}

export interface Run {
  readonly seconds?: number;
  /** At its first words, which say that it hears signals by now. */
  readonly interrupt?: boolean;
}

export function makePlace(t: TestContext): Place {
  const all = mkdtempSync(join(tmpdir(), "kernel-"));
  t.after(() => rmSync(all, { recursive: true }));
  const [tools, dir, app] = [join(all, "tools"), join(all, "run"), join(all, "app")];
  // Beside DIR, what the tests of a run write to.
  for (const directory of [tools, dir, app, join(all, "data"), join(all, "tmp")]) mkdirSync(directory);
  for (const directory of [dir, app]) mkdirSync(join(directory, "languages"));
  return { all, tools, dir, app };
}

/** What a runner said, how it ended, and which processes it left. */
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
      return false; // it ended while we looked
    }
  });
}
