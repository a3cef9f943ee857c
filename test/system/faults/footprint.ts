import { readdirSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import type { Launcher } from "../../support/launcher/launcher.ts";
import { childrenOf, groupsInUse, groupsOf, hostMounts, read } from "../../support/launcher/machine.ts";

/** The resources of a launcher, its slots and a service at one moment. */
export interface Footprint {
  readonly launcherBytes: number;
  /** The value of the slot with the most. */
  readonly slotBytes: number;
  readonly serviceBytes: number;
  readonly launcherDescriptors: number;
  /** Without the first descriptor of each file of a box's group that exists. */
  readonly slotDescriptors: number;
  readonly serviceDescriptors: number;
  readonly groups: number;
  /** Removed groups of this launcher that the kernel has not freed. */
  readonly dyingGroups: number;
  readonly processes: number;
  readonly uids: number;
  readonly namespaces: number;
  /** Lines in the mount lists of the slots and of the host. */
  readonly slotMounts: number;
  readonly hostMounts: number;
  /** The value of the whole machine. It is only reported, because other programs use the machine as well. */
  readonly memoryGroupsOfMachine: number;
  readonly slabBytesOfMachine: number;
}

const KINDS = ["mnt", "net", "pid", "ipc", "uts", "cgroup"];

/** Private memory. Shared memory is the program's text, or hand-over memory that lives as long as its slot. */
function privateBytes(pid: number): number {
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024;
}

const targetsOf = (pid: number) => list(`/proc/${pid}/fd`).map((fd) => readlink(`/proc/${pid}/fd/${fd}`));

const descriptors = (pid: number) => targetsOf(pid).length;

/** A group of a box, or a file of one, unless the group has been removed. */
const GROUP_OF_BOX = /\/s\d+-b\d+(\/[^ ]+)?$/;

/**
 * The number of descriptors of a slot, without the first one of each existing group of a box and of each of its files: a slot keeps a
 * group, with its files, if the next box can use it, and that depends on what the last box of that group did.
 */
function slotDescriptors(pid: number): number {
  const targets = targetsOf(pid);
  return targets.length - new Set(targets.filter((target) => GROUP_OF_BOX.test(target))).size;
}

/** The number of descriptors of a process that are open files with this name. */
export function openFiles(pid: number, name: string): number {
  return targetsOf(pid).filter((target) => basename(target) === name).length;
}

function readlink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ""; // closed in the meantime
  }
}

const lines = (path: string) => read(path).split("\n").length - 1;

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // the process has just ended
  }
}

export function family(root: number): number[] {
  const all = [root];
  for (const pid of all) all.push(...childrenOf(pid));
  return all;
}

/** The number of namespaces that these processes are in or hold by a descriptor. */
export function namespacesOf(pids: readonly number[]): number {
  const seen = new Set<string>();
  for (const pid of pids) {
    const held = list(`/proc/${pid}/fd`).map((fd) => `fd/${fd}`);
    for (const link of [...KINDS.map((kind) => `ns/${kind}`), ...held]) {
      const target = readlink(`/proc/${pid}/${link}`);
      if (KINDS.some((kind) => target.startsWith(`${kind}:[`))) seen.add(target);
    }
  }
  return seen.size;
}

export function footprint(launcher: Launcher, service: number): Footprint {
  const slots = childrenOf(launcher.pid);
  const most = (count: (pid: number) => number) => Math.max(0, ...slots.map(count));
  const pids = family(launcher.pid);
  const groups = groupsOf(launcher);
  const dying = groups.map((group) => /^nr_dying_descendants (\d+)$/m.exec(read(`${group}/cgroup.stat`))?.[1] ?? 0);
  return {
    launcherBytes: privateBytes(launcher.pid),
    slotBytes: most(privateBytes),
    serviceBytes: privateBytes(service),
    launcherDescriptors: descriptors(launcher.pid),
    slotDescriptors: most(slotDescriptors),
    serviceDescriptors: descriptors(service),
    groups: groupsInUse(launcher).length,
    dyingGroups: dying.reduce<number>((sum, count) => sum + Number(count), 0),
    processes: pids.length,
    uids: new Set(pids.map((pid) => /^Uid:\t(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1])).size,
    namespaces: namespacesOf(pids),
    slotMounts: most((pid) => lines(`/proc/${pid}/mountinfo`)),
    hostMounts: hostMounts().filter((line) => line.includes(launcher.instance)).length,
    memoryGroupsOfMachine: Number(/^memory\t\d+\t(\d+)/m.exec(read("/proc/cgroups"))?.[1] ?? 0),
    slabBytesOfMachine: Number(/^Slab: +(\d+) kB$/m.exec(read("/proc/meminfo"))?.[1]) * 1024,
  };
}
