import { LIMIT_FIELDS, type LimitField, type LimitName, type Limits, type RequestedLimits } from "../domain/limits.ts";

/** The wall time for each second of CPU time, so that on a busy machine a program that computes reaches the CPU limit first. */
const WALL_PER_CPU = 2.5;
/** The address space for each byte of the memory limit, so that a program that uses its memory reaches the memory limit first. */
const ADDRESS_SPACE_PER_MEMORY = 4;

/** The higher one of two values of each limit; null is no limit. */
export function higher(limits: Limits, others: Partial<Limits>): Limits {
  const values = Object.entries(others).map(([name, other]) => {
    const value = limits[name as LimitName];
    return [name, value === null || other === null ? null : Math.max(value, other)];
  });
  return { ...limits, ...Object.fromEntries(values) };
}

/** Changes of limits, without those parts that exceed a ceiling. */
export function atMost(changes: Partial<Limits>, ceiling: Limits): Partial<Limits> {
  const values = Object.entries(changes).map(([name, value]) => {
    const most = ceiling[name as LimitName];
    return [name, most === null ? value : Math.min(value ?? most, most)];
  });
  return Object.fromEntries(values);
}

/** Limits of a request as limits of a step. */
export function fromFields(requested: RequestedLimits): Partial<Limits> {
  return Object.fromEntries(
    Object.entries(requested).map(([field, value]) => {
      const { limit, scale } = LIMIT_FIELDS[field as LimitField];
      return [limit, Math.round(value * scale)];
    }),
  );
}

/**
 * The limits with these changes. If they do not contain a wall time, a higher CPU time also raises the wall time. More memory raises the address space. It also
 * raises a stack that was half of the memory, as those of native programs are: problems are made for judges whose stack only the memory limits. Verdicts
 * depend on these relations.
 * @param ceiling the highest value of each limit. The wall time that follows from the CPU time does not exceed it.
 */
export function withChanges(limits: Limits, changes: Partial<Limits>, ceiling: Limits): Limits {
  const changed: Limits = { ...limits, ...changes };
  const { wallMs, cpuMs, memoryBytes, addressSpaceBytes, stackBytes } = changed;
  const leastWallMs = Math.min(Math.round(cpuMs * WALL_PER_CPU), ceiling.wallMs);
  const hasMoreTime = changes.wallMs === undefined && cpuMs > limits.cpuMs;
  const hasMoreMemory = memoryBytes > limits.memoryBytes;
  const mostStackBytes = Math.floor(memoryBytes / 2);
  const stays = changes.stackBytes !== undefined || limits.stackBytes < Math.floor(limits.memoryBytes / 2);
  const newStackBytes = hasMoreMemory && !stays ? mostStackBytes : Math.min(stackBytes, mostStackBytes);
  const longestMs = hasMoreTime ? Math.max(wallMs, leastWallMs) : wallMs;
  return {
    ...changed,
    wallMs: longestMs,
    cpuMs: Math.min(cpuMs, longestMs),
    addressSpaceBytes:
      hasMoreMemory && addressSpaceBytes !== null
        ? // In the address space, each thread reserves a whole stack.
          Math.max(addressSpaceBytes, memoryBytes * ADDRESS_SPACE_PER_MEMORY + changed.processes * newStackBytes)
        : addressSpaceBytes,
    stackBytes: newStackBytes,
  };
}
