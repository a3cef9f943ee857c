import { type Dirent, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PATIENCE } from "../programs/timeouts.ts";
import type { Launcher } from "./launcher.ts";

const PATIENCE_MS = 20_000 * PATIENCE;

/** Pids of all processes. Some may end before they are examined. */
function pids(): number[] {
  return readdirSync("/proc").map(Number).filter(Number.isInteger);
}

/** The content of a file; empty if it no longer exists, because files of processes and groups can vanish at any time. */
export function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Living children of a process. */
export function childrenOf(parent: number): number[] {
  return pids().filter((pid) => {
    // The fields after the name, which may contain anything: state, parent.
    const [state, ppid] = read(`/proc/${pid}/stat`)
      .replace(/^.*\) /s, "")
      .split(" ");
    return Number(ppid) === parent && state !== "Z";
  });
}

/** User and system time that a process has used so far, in ticks of 10 ms. */
export function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

/** Kills all children of a process. One of them can end by itself at the same moment, such as a slot whose client has left. */
export function killChildren(parent: number): void {
  for (const pid of childrenOf(parent))
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
}

/** Living processes that supervisors below a process have started, with those that these have started (supervisor/main.c). */
export function startedBelow(parent: number): number[] {
  const family = childrenOf(parent);
  for (const pid of family) family.push(...childrenOf(pid));
  return family.filter((pid) => !/^[^\0]*assay-supervisor\0/.test(read(`/proc/${pid}/cmdline`)));
}

interface Process {
  readonly pid: number;
  readonly uid: number;
  readonly state: string;
  /** Runs the launcher's program: launcher, slot, init, or a program that waits for its start. */
  readonly launcher: boolean;
  /** Has arguments, so it is neither exiting nor in the middle of an exec. */
  readonly settled: boolean;
}

function processesOf({ instance, uidBase, uids }: Launcher): Process[] {
  return pids().flatMap((pid) => {
    const status = read(`/proc/${pid}/status`);
    const uid = Number(/^Uid:\t(\d+)/m.exec(status)?.[1] ?? -1);
    const state = /^State:\t(\w)/m.exec(status)?.[1] ?? "";
    const isProgram = uid >= uidBase && uid < uidBase + uids;
    // The command of a process cannot be read while another one changes its memory, for example in a box of a test of attacks.
    if (!isProgram && uid !== 0) return [];
    const command = read(`/proc/${pid}/cmdline`);
    const launcher = command.split("\0").includes(instance);
    const settled = command !== "";
    return launcher || isProgram ? [{ pid, uid, state, launcher, settled }] : [];
  });
}

/** Processes that run, or did until a moment ago, a client's program. */
export function programsOf(launcher: Launcher): Process[] {
  return processesOf(launcher).filter((process) => !process.launcher);
}

/** Processes that run a client's program now. Excludes unused parked boxes during teardown. */
export function runningProgramsOf(launcher: Launcher): Process[] {
  return programsOf(launcher).filter((process) => process.settled);
}

/** The paths of all control groups of the machine, in every hierarchy. */
export function allGroups(directory = "/sys/fs/cgroup"): string[] {
  let entries: Dirent[];
  try {
    entries = readdirSync(directory, { withFileTypes: true });
  } catch {
    return []; // removed meanwhile
  }
  const paths = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(directory, name));
  return paths.flatMap((path) => [path, ...allGroups(path)]);
}

/** Control groups of an instance, including leaves. */
export function groupsOf({ instance }: Pick<Launcher, "instance">): string[] {
  return allGroups().filter(
    (path) =>
      path.split("/").some((name) => name === `assay-${instance}`) || path.endsWith(`/assay-${instance}.launcher`),
  );
}

/** Whether a slot reuses this group for its next box. The number of such groups depends on the last programs. */
export function isKeptGroup(path: string): boolean {
  const hasMemory = ["memory.max", "memory.limit_in_bytes"].some((file) => existsSync(join(path, file)));
  return /\/s\d+-b[01]$/.test(path) && !hasMemory && read(join(path, "cgroup.procs")) === "";
}

/** Control groups of an instance, except those that its slots reuse. */
export function groupsInUse(launcher: Pick<Launcher, "instance">): string[] {
  return groupsOf(launcher).filter((path) => !isKeptGroup(path));
}

/** All processes (including dead ones) and control groups of this launcher. */
export function tracesOf(launcher: Launcher): string[] {
  const processes = processesOf(launcher).map(({ pid, uid, state }) => `process ${pid} of uid ${uid} (${state})`);
  return [...processes, ...groupsOf(launcher)];
}

/**
 * Memory of programs and tmpfs that is charged to an instance, in bytes, including what ended boxes left. Excludes the
 * page cache, which stays while there is free memory.
 */
export function chargedBytesOf(launcher: Pick<Launcher, "instance">): number {
  const top = groupsOf(launcher).find(
    (path) => path.endsWith(`/assay-${launcher.instance}`) && exists(`${path}/memory.stat`),
  );
  if (top === undefined) throw new Error(`${launcher.instance} has no memory group`);
  const stat = read(`${top}/memory.stat`);
  const field = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(stat)?.[1]);
  // cgroup v1 includes the groups below only in the fields with `total_`.
  const bytes = stat.includes("\ntotal_rss ")
    ? field("total_rss") + field("total_shmem")
    : field("anon") + field("shmem");
  if (Number.isNaN(bytes)) throw new Error(`${top}/memory.stat cannot be parsed`);
  return bytes;
}

/** Memory of the kernel and of tmpfs in bytes. It would grow if memory of a box remained uncharged. */
export function kernelBytes(): number {
  const meminfo = read("/proc/meminfo");
  return ["SUnreclaim", "KernelStack", "PageTables", "Percpu", "Shmem"]
    .map((name) => Number(new RegExp(`^${name}: +(\\d+) kB$`, "m").exec(meminfo)?.[1]) * 1024)
    .reduce((sum, bytes) => sum + bytes, 0);
}

/** All mounts that the host sees, except those of runs of the tests, which begin and end at any time. */
export function hostMounts(): string[] {
  const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  return mounts.filter((mount) => !mount.includes(" - ramfs assay-test ")).sort();
}

/** Waits until nothing of a launcher is left. @returns what is left after some seconds. */
export async function tracesLeft(launcher: Launcher): Promise<string[]> {
  const deadline = performance.now() + PATIENCE_MS;
  let traces = tracesOf(launcher);
  while (traces.length > 0 && performance.now() < deadline) {
    await sleep(20);
    traces = tracesOf(launcher);
  }
  return traces;
}

/** Waits for a condition that another process causes. */
export async function eventually(what: string, condition: () => boolean): Promise<void> {
  for (const deadline = performance.now() + PATIENCE_MS; !condition(); await sleep(10)) {
    if (performance.now() > deadline) throw new Error(`${what} did not happen`);
  }
}

export function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
