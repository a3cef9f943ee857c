import { readFileSync } from "node:fs";

/**
 * Makes SIGTERM for this process also end the processes that it has started, which are in its process group. Otherwise a load, a service
 * or a second launcher would continue when the shell of the command is killed: only this process then gets a signal.
 */
export function endTogether(): void {
  const { pid } = process;
  if (groupOf(pid) !== pid) return; // if `assay` has not started this process, the group can have other processes
  // The signal to the group also ends this process, because nothing handles a second SIGTERM.
  process.once("SIGTERM", () => process.kill(-pid, "SIGTERM"));
}

function groupOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]);
}
