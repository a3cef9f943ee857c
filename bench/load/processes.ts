import { readdirSync, readFileSync } from "node:fs";

/** The unit of times in /proc/PID/stat. */
const TICK_MS = 10;

interface Times {
  readonly parent: number;
  /** CPU time of the process itself. */
  readonly ownMs: number;
  /** CPU time of its children that have ended and been waited for, including what these had of their own children. */
  readonly endedMs: number;
}

function times(pid: number): Times | undefined {
  const stat = read(`/proc/${pid}/stat`);
  // The name of the process is in parentheses and may contain any character.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (!fields) return undefined;
  const ticks = (field: number) => Number(fields[field - 3]) * TICK_MS;
  return { parent: Number(fields[1]), ownMs: ticks(14) + ticks(15), endedMs: ticks(16) + ticks(17) };
}

/** CPU time of processes. Other load on the machine changes it less than wall time. */
export interface CpuMs {
  /** CPU time of these processes and their living descendants. */
  readonly ownMs: number;
  /** CPU time of descendants that have ended. */
  readonly endedMs: number;
}

export function cpuOf(roots: readonly number[]): CpuMs {
  const all = tree(roots).map((pid) => times(pid));
  const sum = (of: "ownMs" | "endedMs") => all.reduce((total, one) => total + (one?.[of] ?? 0), 0);
  return { ownMs: sum("ownMs"), endedMs: sum("endedMs") };
}

/** @returns these processes and all their descendants. */
export function tree(roots: readonly number[]): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    const parent = /^\d+$/.test(name) ? times(Number(name))?.parent : undefined;
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const all = [...roots];
  for (const pid of all) all.push(...(children.get(pid) ?? []));
  return all;
}

export function parentOf(pid: number): number | undefined {
  return times(pid)?.parent;
}

/** @returns the peak memory of a process in bytes; NaN if it has ended. */
export function peakBytes(pid: number): number {
  return kibibytes(`/proc/${pid}/status`, /^VmHWM:\s+(\d+) kB/m);
}

/** @returns the private memory of a process and its share of shared memory, in bytes; NaN if it has ended. */
export function sharedFairlyBytes(pid: number): number {
  return kibibytes(`/proc/${pid}/smaps_rollup`, /^Pss:\s+(\d+) kB/m);
}

/** @returns how many bytes a process has written to storage; 0 if it has ended. */
export function writtenBytes(pid: number): number {
  return Number(/^write_bytes: (\d+)/m.exec(read(`/proc/${pid}/io`) ?? "")?.[1] ?? 0);
}

export function nameOf(pid: number): string {
  return read(`/proc/${pid}/comm`)?.trim() ?? "";
}

function kibibytes(path: string, pattern: RegExp): number {
  return Number(pattern.exec(read(path) ?? "")?.[1] ?? Number.NaN) * 1024;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined; // the process has ended
  }
}
