import { readdirSync, readlinkSync } from "node:fs";
import type { Launcher } from "../launcher/launcher.ts";
import { childrenOf, groupsOf, hostMounts, read } from "../launcher/machine.ts";

/** What a launcher, its slots and a service have of the machine at one moment. */
export interface Footprint {
  readonly launcherBytes: number;
  /** Of the slot that has most. */
  readonly slotBytes: number;
  readonly serviceBytes: number;
  readonly launcherDescriptors: number;
  readonly slotDescriptors: number;
  readonly serviceDescriptors: number;
  readonly groups: number;
  /** Groups that were removed and that something still holds, of this launcher. */
  readonly dyingGroups: number;
  readonly processes: number;
  readonly uids: number;
  readonly namespaces: number;
  /** Lines in the mount lists of the slots, and of the host. */
  readonly slotMounts: number;
  readonly hostMounts: number;
  /** Of the whole machine, where others work as well: shown, not judged. */
  readonly memoryGroupsOfMachine: number;
  readonly slabBytesOfMachine: number;
}

const KINDS = ["mnt", "net", "pid", "ipc", "uts", "cgroup"];

/** Private memory: what is shared is the program's text, or a hand that lives as long as its slot. */
function privateBytes(pid: number): number {
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024;
}

const descriptors = (pid: number) => list(`/proc/${pid}/fd`).length;
const lines = (path: string) => read(path).split("\n").length - 1;

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // it has just ended
  }
}

export function family(root: number): number[] {
  const all = [root];
  for (const pid of all) all.push(...childrenOf(pid));
  return all;
}

/** Those in which somebody of them is, and those that somebody holds by a descriptor. */
export function namespacesOf(pids: readonly number[]): number {
  const seen = new Set<string>();
  for (const pid of pids) {
    const held = list(`/proc/${pid}/fd`).map((fd) => `fd/${fd}`);
    for (const link of [...KINDS.map((kind) => `ns/${kind}`), ...held])
      try {
        const target = readlinkSync(`/proc/${pid}/${link}`);
        if (KINDS.some((kind) => target.startsWith(`${kind}:[`))) seen.add(target);
      } catch {
        // it has just ended
      }
  }
  return seen.size;
}

export function footprint(launcher: Launcher, service: number): Footprint {
  const slots = childrenOf(launcher.pid);
  const most = (count: (pid: number) => number) => Math.max(0, ...slots.map(count));
  const everybody = family(launcher.pid);
  const groups = groupsOf(launcher);
  const dying = groups.map((group) => /^nr_dying_descendants (\d+)$/m.exec(read(`${group}/cgroup.stat`))?.[1] ?? 0);
  return {
    launcherBytes: privateBytes(launcher.pid),
    slotBytes: most(privateBytes),
    serviceBytes: privateBytes(service),
    launcherDescriptors: descriptors(launcher.pid),
    slotDescriptors: most(descriptors),
    serviceDescriptors: descriptors(service),
    groups: groups.length,
    dyingGroups: dying.reduce<number>((sum, count) => sum + Number(count), 0),
    processes: everybody.length,
    uids: new Set(everybody.map((pid) => /^Uid:\t(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1])).size,
    namespaces: namespacesOf(everybody),
    slotMounts: most((pid) => lines(`/proc/${pid}/mountinfo`)),
    hostMounts: hostMounts().filter((line) => line.includes(launcher.instance)).length,
    memoryGroupsOfMachine: Number(/^memory\t\d+\t(\d+)/m.exec(read("/proc/cgroups"))?.[1] ?? 0),
    slabBytesOfMachine: Number(/^Slab: +(\d+) kB$/m.exec(read("/proc/meminfo"))?.[1]) * 1024,
  };
}
