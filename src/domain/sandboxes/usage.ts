import type { SandboxMeasurement } from "./host.ts";

/** What a sandbox used at a time. Memory, processes and disk are the highest of those that were measured since the sample before. */
export interface UsageSample extends Pick<SandboxMeasurement, "cpuUsec" | "memoryBytes" | "processes" | "diskBytes"> {
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

/** The most samples of a sandbox. */
export const MAX_USAGE_SAMPLES = 240;
/** The least time between two samples, until there are MAX_USAGE_SAMPLES of them. */
const FIRST_STEP_MS = 5_000;
/** What the memory of a sandbox is counted in: fewer digits in the database. */
const PAGE_BYTES = 4_096;

/**
 * What a sandbox has used over its life. When there are too many samples, each two become one, and from then on the time between two of
 * them is twice as long. So they cover the whole life, and are as many after a day as after an hour.
 */
export class UsageHistory {
  #samples: UsageSample[] = [];
  /** What was measured after the last sample; null if there is nothing. */
  #newest: UsageSample | null = null;
  #stepMs = FIRST_STEP_MS;

  /** The time between two samples. */
  get stepMs(): number {
    return this.#stepMs;
  }

  /** When something was measured last; -Infinity if nothing was. */
  get lastMs(): number {
    return (this.#newest ?? this.#samples.at(-1))?.atMs ?? Number.NEGATIVE_INFINITY;
  }

  /** The processes that were measured last. */
  get processes(): number {
    return (this.#newest ?? this.#samples.at(-1))?.processes ?? 0;
  }

  /** Adds a measurement. One that is older than the last is left out: the clock was set back. */
  add(measured: SandboxMeasurement, atMs: number): void {
    if (atMs < this.lastMs) return;
    const { cpuUsec, memoryBytes, processes, diskBytes } = measured;
    const sample = { atMs, cpuUsec, memoryBytes, processes, diskBytes };
    const newest = this.#newest ? merged(this.#newest, sample) : sample;
    const before = this.#samples.at(-1);
    if (before && atMs - before.atMs < this.#stepMs) {
      this.#newest = newest;
      return;
    }
    this.#newest = null;
    this.#samples.push(newest);
    if (this.#samples.length < MAX_USAGE_SAMPLES) return;
    this.#samples = thinned(this.#samples);
    this.#stepMs *= 2;
  }

  /** Oldest first, at most MAX_USAGE_SAMPLES. */
  samples(): readonly UsageSample[] {
    return this.#newest ? [...this.#samples, this.#newest] : [...this.#samples];
  }
}

function merged(a: UsageSample, b: UsageSample): UsageSample {
  return {
    atMs: b.atMs,
    cpuUsec: b.cpuUsec,
    memoryBytes: Math.max(a.memoryBytes, b.memoryBytes),
    processes: Math.max(a.processes, b.processes),
    diskBytes: Math.max(a.diskBytes, b.diskBytes),
  };
}

/** Every two samples as one, but the first as it is, because the curve begins there. */
function thinned([first, ...rest]: readonly UsageSample[]): UsageSample[] {
  if (!first) return [];
  const kept = [first];
  for (let i = 0; i < rest.length; i += 2) {
    const [a, b] = [rest[i], rest[i + 1]];
    if (a) kept.push(b ? merged(a, b) : a);
  }
  return kept;
}

/** JSON of the differences from sample to sample: about 25 bytes for each. */
export function encodeUsage(samples: readonly UsageSample[]): string {
  const column = (of: (sample: UsageSample) => number) =>
    samples.map((sample, i) => of(sample) - (i > 0 ? of(samples[i - 1] as UsageSample) : 0));
  return JSON.stringify({
    at: column(({ atMs }) => Math.round(atMs)),
    cpu: column(({ cpuUsec }) => cpuUsec),
    pages: column(({ memoryBytes }) => Math.ceil(memoryBytes / PAGE_BYTES)),
    processes: column(({ processes }) => processes),
    disk: column(({ diskBytes }) => diskBytes),
  });
}

export function decodeUsage(text: string): UsageSample[] {
  const { at, cpu, pages, processes, disk } = JSON.parse(text) as Readonly<Record<string, readonly number[]>>;
  const sums = (differences: readonly number[] = []) => {
    let sum = 0;
    return differences.map((difference) => {
      sum += difference;
      return sum;
    });
  };
  const [cpus, memory, counts, disks] = [sums(cpu), sums(pages), sums(processes), sums(disk)];
  return sums(at).map((atMs, i) => ({
    atMs,
    cpuUsec: cpus[i] ?? 0,
    memoryBytes: (memory[i] ?? 0) * PAGE_BYTES,
    processes: counts[i] ?? 0,
    diskBytes: disks[i] ?? 0,
  }));
}
