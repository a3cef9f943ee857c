import { useSyncExternalStore } from "react";
import { exact, relative } from "./words.ts";

const TICK_MS = 10_000;

let now = Date.now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** One clock for all times of a page. */
function listen(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const tell of listeners) tell();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** A time as people say it; the exact one when they point at it. */
export function Moment({ at, never = "never" }: { at: string | null; never?: string }) {
  const seen = useSyncExternalStore(listen, () => now);
  if (at === null) return <span>{never}</span>;
  return (
    <time dateTime={at} title={exact(at)}>
      {relative(at, Math.max(seen, Date.now() - TICK_MS))}
    </time>
  );
}
