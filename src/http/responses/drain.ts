import type { ServerResponse } from "node:http";

/** The lowest speed at which a client may read a long response: at least `leastBytes` in each window. */
export interface DrainLimits {
  readonly windowMs: number;
  readonly leastBytes: number;
}

/**
 * 16 KiB a second, averaged over a minute. The window must not be shorter: the kernel's send buffer holds up to some 4 MiB, and takes more
 * only after the client has read a third of them. In half a minute, a client that reads steadily could therefore appear to read nothing.
 */
export const DRAIN: DrainLimits = { windowMs: 60_000, leastBytes: 60 * 16_384 };

/**
 * Closes the connection of a client that reads a long response too slowly.
 * @param ended called before the connection is closed.
 * @param isWaiting whether there has been something to read for the whole window. A stream of events is often silent.
 * @returns a function that has to be called with the size of each piece that has been sent.
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
