import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** A token that can stand in a log, a header and a shell without being anything else there. */
export const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$/;

/**
 * What every line about a request and its answer carry: the client's own `X-Request-Id`, if it is a token, so that its log
 * and ours can be read side by side; else a new one. It is a name and never a proof of anything.
 */
export function requestId({ headers }: Pick<IncomingMessage, "headers">): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
}
