import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";

/** Faults that slow-disk.c injects into a process's flushes. */
interface Disk {
  readonly delayMs?: number;
  /** A directory that receives the worst state that a power cut could leave. */
  readonly flushed?: string;
  /** Flushes fail while a file of this name exists. */
  readonly broken?: string;
}

/** A temporary directory with a compiled library that intercepts flushes. */
export function diskLab(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), "assay-slow-disk-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const library = join(directory, "slow-disk.so");
  execFileSync("cc", ["-shared", "-fPIC", "-O", "-o", library, join(import.meta.dirname, "slow-disk.c"), "-ldl"]);
  mkdirSync(join(directory, "db"));
  const path = join(directory, "db/assay.sqlite");
  return { directory, path, writer: (disk: Disk, count: number) => writer(t, library, path, disk, count) };
}

/** Starts a process that accepts and ends `count` submissions (disk-writer.ts), a few at a time, on such a disk. */
function writer(t: TestContext, library: string, path: string, disk: Disk, count: number) {
  const { delayMs, flushed, broken } = disk;
  const env = {
    ...process.env,
    LD_PRELOAD: library,
    ...(delayMs !== undefined && { DISK_DELAY_MS: String(delayMs) }),
    ...(flushed !== undefined && { DISK_FLUSHED: flushed }),
    ...(broken !== undefined && { DISK_BROKEN: broken }),
  };
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, "../../integration/store/disk-writer.ts"), path, String(count)],
    {
      env,
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  t.after(() => child.kill("SIGKILL"));
  let words = "";
  child.stderr.on("data", (chunk: Buffer) => {
    words += chunk;
  });
  const ended = once(child, "close").then(([code, signal]) => ({ code, signal, words }));
  return { child, lines: createInterface(child.stdout), ended };
}
