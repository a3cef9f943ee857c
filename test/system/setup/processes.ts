import { readdirSync, readFileSync } from "node:fs";

// Read from /proc, because a small Debian has no pkill and no pgrep.

/** Processes with the name of a directory in an argument. */
export function processesBelow(directory: string): number[] {
  return processes().filter((pid) => commandLine(pid).includes(directory));
}

/** Running children of a process. */
export function childrenOf(parent: number): number[] {
  return processes().filter((pid) => new RegExp(`^PPid:\\t${parent}$`, "m").test(read(pid, "status")));
}

/** Running processes that supervisors below a process have started, with those that these have started (supervisor/main.c). */
export function startedBelow(parent: number): number[] {
  const family = childrenOf(parent);
  for (const pid of family) family.push(...childrenOf(pid));
  return family.filter((pid) => !/^[^\0]*assay-supervisor\0/.test(commandLine(pid)));
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
