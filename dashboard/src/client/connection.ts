import { useSyncExternalStore } from "react";

/** Time between the attempts of a page that gets no answer. */
const PROBE_MS = 3_000;

export interface Connection {
  /** Time of the first request without an answer; null while the service answers. */
  readonly lostAt: number | null;
  /** Time of the last answer. */
  readonly seenAt: number;
}

let current: Connection = { lostAt: null, seenAt: Date.now() };
let probing: ReturnType<typeof setInterval> | undefined;
let probe: () => Promise<unknown> = async () => {};
const listeners = new Set<() => void>();

/** The service has answered. */
export function markReachable(): void {
  const wasLost = current.lostAt !== null;
  current = { lostAt: null, seenAt: Date.now() };
  if (!wasLost) return;
  clearInterval(probing);
  for (const listener of listeners) listener();
}

/** The service has not answered. Tries until it does. */
export function markUnreachable(): void {
  if (current.lostAt !== null) return;
  current = { ...current, lostAt: Date.now() };
  probing = setInterval(() => void probe().catch(() => {}), PROBE_MS);
  for (const listener of listeners) listener();
}

/** @param request asks the service for anything. @param onBack called when it answers again. */
export function watchConnection(request: () => Promise<unknown>, onBack: () => void): void {
  probe = request;
  listen(() => current.lostAt === null && onBack());
  window.addEventListener("offline", markUnreachable);
  window.addEventListener("online", () => void probe().catch(() => {}));
}

export function useConnection(): Connection {
  return useSyncExternalStore(listen, () => current);
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
