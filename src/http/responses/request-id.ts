import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** A token that is safe in a log, a header and a shell. */
export const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$/;

/**
 * The id in the response and in every log line about the request: the client's `X-Request-Id`, if it is a token, so
 * that client and service logs can be correlated; else a new UUID. It proves nothing.
 */
export function requestId({ headers }: Pick<IncomingMessage, "headers">): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
}
