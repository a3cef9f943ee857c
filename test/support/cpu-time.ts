/**
 * The CPU time of this process, with all its threads, in milliseconds. Tests bound it instead of wall time, which other programs on the
 * machine lengthen.
 */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
