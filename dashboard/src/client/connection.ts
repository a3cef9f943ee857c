import { useSyncExternalStore } from "react";

/** Time between two attempts to reach a service that does not answer. */
const PROBE_MS = 3_000;

export interface Connection {
  /** When the service was first found to be unreachable, in milliseconds since the epoch; null while it answers. */
  readonly lostAt: number | null;
  /** Time of the last answer, or of the loading of the document if there was none, in milliseconds since the epoch. */
  readonly seenAt: number;
}

let current: Connection = { lostAt: null, seenAt: Date.now() };
let probing: ReturnType<typeof setInterval> | undefined;
let probe: () => Promise<unknown> = async () => {};
const listeners = new Set<() => void>();

/** Notes that the service has answered. */
export function markReachable(): void {
  const wasLost = current.lostAt !== null;
  current = { lostAt: null, seenAt: Date.now() };
  if (!wasLost) return;
  clearInterval(probing);
  for (const listener of listeners) listener();
}

/** Notes that the service has not answered, and sends it requests until it does. */
export function markUnreachable(): void {
  if (current.lostAt !== null) return;
  current = { ...current, lostAt: Date.now() };
  probing = setInterval(() => void probe().catch(() => {}), PROBE_MS);
  for (const listener of listeners) listener();
}

/**
 * Sends requests while the service does not answer.
 * @param request sends one such request.
 * @param onBack is called when the service answers again.
 */
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
