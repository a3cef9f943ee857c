import { useSyncExternalStore } from "react";
import { exact, relative } from "./format.ts";

const TICK_MS = 10_000;

let ticks = 0;
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** Calls the listener every ten seconds. All relative times of a page share one timer. */
function listen(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    ticks++;
    for (const notify of listeners) notify();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** A relative time, with the exact time as a tooltip. @param never The text that is shown if the time is null. */
export function Timestamp({ at, never = "never" }: { at: string | null; never?: string }) {
  useSyncExternalStore(listen, () => ticks);
  if (at === null) return <span>{never}</span>;
  return (
    <time dateTime={at} title={exact(at)}>
      {relative(at, Date.now())}
    </time>
  );
}
