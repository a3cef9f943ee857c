const STEP_MS = 10;

/**
 * Measures how long this process has waited or computed since the call, in milliseconds. Time in which a busy machine kept it from
 * running does not count, unlike in wall time: a timer that is late counts once, and the rest is CPU time of this thread.
 */
export function stopwatch(): () => number {
  let steps = 0;
  const before = process.threadCpuUsage();
  const timer = setInterval(() => steps++, STEP_MS).unref();
  return () => {
    clearInterval(timer);
    const { user, system } = process.threadCpuUsage(before);
    return steps * STEP_MS + (user + system) / 1_000;
  };
}
