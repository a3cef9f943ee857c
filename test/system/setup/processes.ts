import { readdirSync, readFileSync } from "node:fs";

export { childrenOf, startedBelow } from "../../support/launcher/machine.ts";

// Read from /proc, because a small Debian has no pkill and no pgrep.

/** Processes with the name of a directory in an argument. */
export function processesBelow(directory: string): number[] {
  return processes().filter((pid) => commandLine(pid).includes(directory));
}

/** Arguments, each followed by a NUL; empty for a process that has ended. */
export function commandLine(pid: number): string {
  return read(pid, "cmdline");
}

function processes(): number[] {
  return readdirSync("/proc").map(Number).filter(Number.isInteger);
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return ""; // it has just ended
  }
}
