import type { ServerResponse } from "node:http";

/** Minimum speed for reading a long response: 16 KiB a second, averaged over a minute. */
export interface DrainLimits {
  readonly windowMs: number;
  readonly leastBytes: number;
}

/**
 * The kernel's send buffer takes up to some 4 MiB and accepts more only after a third of it is read. Over half a
 * minute, a client that reads steadily could therefore appear to read nothing.
 */
export const DRAIN: DrainLimits = { windowMs: 60_000, leastBytes: 60 * 16_384 };

/**
 * Closes the connection of a client that reads a long response too slowly.
 * @param isWaiting whether the client has had something to read for the whole window; a stream of events is often silent.
 * @returns a function to call with the size of each piece sent.
 */
export function endSlowReader(
  response: ServerResponse,
  { windowMs, leastBytes }: DrainLimits,
  ended: () => void,
  isWaiting: () => boolean = () => true,
): (bytes: number) => void {
  let passed = 0;
  const timer = setInterval(() => {
    if (passed < leastBytes && isWaiting()) {
      ended();
      response.destroy();
    }
    passed = 0;
  }, windowMs);
  if (response.closed) clearInterval(timer);
  else response.once("close", () => clearInterval(timer));
  return (bytes) => {
    passed += bytes;
  };
}
