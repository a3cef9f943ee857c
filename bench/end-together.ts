import { readFileSync } from "node:fs";

/**
 * Ends the processes that this one has started with it. Otherwise a load, a service or a second launcher continues when the shell
 * of the command is killed: only this process then gets a signal, and it has no time to end others. All of them are in its group.
 */
export function endTogether(): void {
  const { pid } = process;
  if (groupOf(pid) !== pid) return; // without set-up, the group can have other processes
  // The signal of the group also ends this process, because nothing handles it any more.
  process.once("SIGTERM", () => process.kill(-pid, "SIGTERM"));
}

function groupOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]);
}
