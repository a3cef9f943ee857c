import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tree } from "../load/processes.ts";

/** The fields of /proc/meminfo that are memory of the kernel. */
const KERNEL = ["Slab", "KernelStack", "PageTables", "Percpu"] as const;
const CGROUPS = "/sys/fs/cgroup";

/** What the kernel has of a service and its sandboxes. */
export interface Counted {
  /** In bytes. */
  readonly kernel_memory: number;
  /** Groups of the memory controller, also those that are removed but not freed, because something is still charged to them. */
  readonly memory_groups: number;
  readonly cgroups: number;
  readonly namespaces: number;
  readonly mounts: number;
  readonly descriptors: number;
}

/** How much of a count may be more at the end than at the beginning. */
export const MOST_GROWTH: Readonly<Record<keyof Counted, { readonly most: number; readonly unit: "%" | "count" }>> = {
  kernel_memory: { most: 1, unit: "%" },
  // Those of the last eight sandboxes, with 16 leaves each, may not be freed yet.
  memory_groups: { most: 128, unit: "count" },
  cgroups: { most: 16, unit: "count" },
  namespaces: { most: 4, unit: "count" },
  mounts: { most: 16, unit: "count" },
  descriptors: { most: 16, unit: "count" },
};

export interface Growth {
  readonly name: keyof Counted;
  readonly from: number;
  readonly to: number;
  /** In the unit. */
  readonly more: number;
  readonly most: number;
  readonly unit: "%" | "count";
}

function field(text: string, name: string): number {
  return 1_024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? 0);
}

/** Reads counts. They are of the whole machine where the kernel has no others, so nothing else may run on it. */
export const Counts = {
  /** @param pids of the processes whose mounts and descriptors, with those of their descendants, are counted. */
  read(pids: readonly number[]): Counted {
    writeFileSync("/proc/sys/vm/drop_caches", "2"); // objects that nobody uses are no leak
    const meminfo = readFileSync("/proc/meminfo", "utf8");
    const all = tree(pids);
    const sum = (of: (pid: number) => number) => all.reduce((total, pid) => total + of(pid), 0);
    return {
      kernel_memory: KERNEL.reduce((total, name) => total + field(meminfo, name), 0),
      memory_groups: memoryGroups(),
      cgroups: directories(CGROUPS),
      namespaces: namespaces(),
      mounts: sum((pid) => lines(`/proc/${pid}/mountinfo`)),
      descriptors: sum((pid) => entries(`/proc/${pid}/fd`).length),
    };
  },

  residentBytes: (pid: number): number => field(readFileSync(`/proc/${pid}/status`, "utf8"), "VmRSS"),

  availableBytes: (): number => field(readFileSync("/proc/meminfo", "utf8"), "MemAvailable"),
};

export function growth(before: Counted, after: Counted): Growth[] {
  return (Object.keys(MOST_GROWTH) as (keyof Counted)[]).map((name) => {
    const [from, to, { most, unit }] = [before[name], after[name], MOST_GROWTH[name]];
    const more = unit === "count" ? to - from : Number(((100 * (to - from)) / from).toFixed(2));
    return { name, from, to, more, most, unit };
  });
}

/** @throws if the kernel does not say it. */
function memoryGroups(): number {
  const [, listed] = /^memory\t\d+\t(\d+)/m.exec(readFileSync("/proc/cgroups", "utf8")) ?? [];
  if (listed !== undefined) return Number(listed);
  // A kernel without cgroup v1 for memory does not list it.
  const found = readFileSync(join(CGROUPS, "cgroup.stat"), "utf8").matchAll(/^nr_(?:dying_)?descendants (\d+)$/gm);
  return [...found].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** How many control groups there are, in all hierarchies. */
function directories(path: string): number {
  let amount = 0;
  for (const one of readdirSync(path, { withFileTypes: true }))
    if (one.isDirectory()) amount += 1 + directories(join(path, one.name));
  return amount;
}

/** How many namespaces the processes of the machine are in. */
function namespaces(): number {
  const found = new Set<string>();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name)))
    for (const name of entries(`/proc/${pid}/ns`)) {
      try {
        found.add(readlinkSync(`/proc/${pid}/ns/${name}`));
      } catch {
        // the process has ended
      }
    }
  return found.size;
}

function entries(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return []; // the process has ended
  }
}

function lines(path: string): number {
  try {
    return readFileSync(path, "utf8").split("\n").length;
  } catch {
    return 0; // the process has ended
  }
}
