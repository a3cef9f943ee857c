import { type Dirent, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PATIENCE } from "../engine/patience.ts";
import { type Launcher, UIDS_EACH } from "./launcher.ts";

const PATIENCE_MS = 20_000 * PATIENCE;

/** Pids of all processes; some may be gone when they are looked at. */
function pids(): number[] {
  return readdirSync("/proc").map(Number).filter(Number.isInteger);
}

/** What a file holds; nothing, when it is gone, as files of processes and groups may be at any time. */
export function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Children of a process that are alive. */
export function childrenOf(parent: number): number[] {
  return pids().filter((pid) => {
    // After the name, which may contain anything: state, parent.
    const [state, ppid] = read(`/proc/${pid}/stat`)
      .replace(/^.*\) /s, "")
      .split(" ");
    return Number(ppid) === parent && state !== "Z";
  });
}

interface Process {
  readonly pid: number;
  readonly uid: number;
  readonly state: string;
  /** Still the launcher's program: launcher, slot, init, or a program that waits to be let go. */
  readonly launcher: boolean;
  /** Has arguments, as whatever is neither ending nor in the middle of an exec. */
  readonly settled: boolean;
}

function processesOf({ instance, uidBase }: Launcher): Process[] {
  return pids().flatMap((pid) => {
    const status = read(`/proc/${pid}/status`);
    const uid = Number(/^Uid:\t(\d+)/m.exec(status)?.[1] ?? -1);
    const state = /^State:\t(\w)/m.exec(status)?.[1] ?? "";
    const command = read(`/proc/${pid}/cmdline`);
    const launcher = command.split("\0").includes(instance);
    const settled = command !== "";
    return launcher || (uid >= uidBase && uid < uidBase + UIDS_EACH) ? [{ pid, uid, state, launcher, settled }] : [];
  });
}

/** Processes that run what a client asked for, or did until a moment ago. */
export function programsOf(launcher: Launcher): Process[] {
  return processesOf(launcher).filter((process) => !process.launcher);
}

/** Those of them that run it now, and not the processes of a box that was parked in vain and is being taken down. */
export function runningProgramsOf(launcher: Launcher): Process[] {
  return programsOf(launcher).filter((process) => process.settled);
}

/** Control groups of an instance, leaves included. */
export function groupsOf({ instance }: Pick<Launcher, "instance">, directory = "/sys/fs/cgroup"): string[] {
  const name = `assay-${instance}`;
  let entries: Dirent[];
  try {
    entries = readdirSync(directory, { withFileTypes: true });
  } catch {
    return []; // removed meanwhile
  }
  return entries
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) => {
      const path = join(directory, entry.name);
      const ours = path.includes(`/${name}/`) || entry.name === name || entry.name === `${name}.launcher`;
      return [...(ours ? [path] : []), ...groupsOf({ instance }, path)];
    });
}

/** Everything on the machine that belongs to this launcher: processes (dead ones, too), control groups. */
export function tracesOf(launcher: Launcher): string[] {
  const processes = processesOf(launcher).map(({ pid, uid, state }) => `process ${pid} of uid ${uid} (${state})`);
  return [...processes, ...groupsOf(launcher)];
}

/**
 * Memory of programs and of tmpfs that is charged to an instance, in bytes; what ended boxes left is charged to it, too.
 * Not the page cache: it stays as long as there is room.
 */
export function chargedBytesOf(launcher: Pick<Launcher, "instance">): number {
  const top = groupsOf(launcher).find(
    (path) => path.endsWith(`/assay-${launcher.instance}`) && exists(`${path}/memory.stat`),
  );
  if (top === undefined) throw new Error(`${launcher.instance} has no memory group`);
  const stat = read(`${top}/memory.stat`);
  const field = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(stat)?.[1]);
  // cgroup v1 counts the groups below only in the fields with `total_`.
  const bytes = stat.includes("\ntotal_rss ")
    ? field("total_rss") + field("total_shmem")
    : field("anon") + field("shmem");
  if (Number.isNaN(bytes)) throw new Error(`${top}/memory.stat is not understood`);
  return bytes;
}

/** Memory that the kernel uses for itself and for tmpfs, in bytes: it would grow if something of a box stayed uncharged. */
export function kernelBytes(): number {
  const meminfo = read("/proc/meminfo");
  return ["SUnreclaim", "KernelStack", "PageTables", "Percpu", "Shmem"]
    .map((name) => Number(new RegExp(`^${name}: +(\\d+) kB$`, "m").exec(meminfo)?.[1]) * 1024)
    .reduce((sum, bytes) => sum + bytes, 0);
}

/** All mounts that the host sees. */
export function hostMounts(): string[] {
  return readFileSync("/proc/self/mountinfo", "utf8").split("\n").sort();
}

/** Waits until nothing is left of a launcher. @returns what is left after some seconds. */
export async function tracesLeft(launcher: Launcher): Promise<string[]> {
  const deadline = performance.now() + PATIENCE_MS;
  let traces = tracesOf(launcher);
  while (traces.length > 0 && performance.now() < deadline) {
    await sleep(20);
    traces = tracesOf(launcher);
  }
  return traces;
}

/** Waits for a condition that a program in a box brings about. */
export async function eventually(what: string, condition: () => boolean): Promise<void> {
  for (const deadline = performance.now() + PATIENCE_MS; !condition(); await sleep(10)) {
    if (performance.now() > deadline) throw new Error(`${what} did not come about`);
  }
}

export function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
