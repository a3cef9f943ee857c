import { execFileSync, spawn } from "node:child_process";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FileProgram } from "../../../src/files/program.ts";

const SOURCES = new URL("../../../image/files/", import.meta.url).pathname;

/** The user that the program has in tests outside of a box. */
export const NOBODY = 65_534;

/** Compiles the file program, also for another processor. @returns its path */
export function compileFileProgram(directory: string, options: readonly string[] = [], compiler = "gcc"): string {
  const program = join(directory, "files");
  const script = 'compiler=$1; shift; "$compiler" -std=gnu11 -O1 -g "$@" *.c -o "$0"';
  execFileSync("sh", ["-c", script, program, compiler, ...options], { cwd: SOURCES });
  return program;
}

/** A directory that belongs to the user of the program, and is removed at the end of the test. */
export function temporaryHome(after: (remove: () => void) => void): string {
  const home = mkdtempSync(join(tmpdir(), "assay-files-"));
  chownSync(home, NOBODY, NOBODY);
  after(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** Starts the program as an unprivileged user, connected by pipes. */
export async function startLocally(
  program: string,
  started: (pid: number, kill: () => void) => void = () => {},
): Promise<FileProgram> {
  const child = spawn(program, [], { uid: NOBODY, gid: NOBODY, stdio: ["pipe", "pipe", "inherit"], env: {} });
  child.stdin.on("error", () => {}); // `write` reports it
  const kill = () => {
    child.kill("SIGKILL");
    child.stdin.destroy();
  };
  started(child.pid as number, kill);
  return {
    output: child.stdout,
    write: (bytes) =>
      new Promise((resolve, reject) => child.stdin.write(bytes, (error) => (error ? reject(error) : resolve()))),
    kill,
  };
}
