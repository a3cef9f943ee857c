import type { ServerResponse } from "node:http";

/** What a client that reads a long answer must take at least: 16 KiB a second, averaged over a minute. */
export interface DrainLimits {
  readonly windowMs: number;
  readonly leastBytes: number;
}

/**
 * The kernel's send buffer takes up to some 4 MiB, and has room for more only when a third of that is read. Over half a minute, a client
 * that reads steadily would sometimes seem to read nothing.
 */
export const DRAIN: DrainLimits = { windowMs: 60_000, leastBytes: 60 * 16_384 };

/** Ends the connection of a client that reads a long answer too slowly. @returns to be told of each piece that is passed on. */
export function endSlowReader(
  response: ServerResponse,
  { windowMs, leastBytes }: DrainLimits,
  ended: () => void,
): (bytes: number) => void {
  let passed = 0;
  const timer = setInterval(() => {
    if (passed < leastBytes) {
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
