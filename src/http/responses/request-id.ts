import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** The form of a request id, which is safe in a log, a header and a shell. */
export const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$/;

/**
 * The id in the response and in every log line about the request. It is the client's `X-Request-Id` if that has the form REQUEST_ID, so
 * that the logs of client and service can be compared; otherwise a new UUID. Because clients choose it, it proves nothing.
 */
export function requestId({ headers }: Pick<IncomingMessage, "headers">): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
}
