import type { IncomingHttpHeaders } from "node:http";
import type { ClientError } from "../../domain/error.ts";
import { hasKeyForm } from "../../domain/key.ts";

/** All routes of Piston's API, version 2. Clients are configured with the part before `/api`. */
export const PISTON = "/piston/api/v2";
/** The only route that takes a WebSocket. */
export const PISTON_CONNECT = `${PISTON}/connect`;

/**
 * How often a request waits, each time as long as `wait=true` does and together 10 minutes: for the response of `execute`, or for the
 * start of a program of `connect`. Piston's clients cannot ask again; the connection of a client that has gone without a notice must
 * still end.
 */
export const MOST_WAITS = 20;

/**
 * The key of a request: in `X-API-Key`, or in `Authorization` as such, as a bearer token, or as user name or password,
 * because many clients only take a URL, which can have both.
 */
export function pistonKey({ "x-api-key": key, authorization }: IncomingHttpHeaders): string | string[] | undefined {
  if (key !== undefined || authorization === undefined) return key;
  const [, scheme = "", value = authorization] = /^(bearer|basic) +(\S+)$/i.exec(authorization) ?? [];
  if (scheme.toLowerCase() !== "basic") return value;
  const pair = Buffer.from(value, "base64").toString();
  const at = pair.indexOf(":");
  return [pair.slice(at + 1), pair.slice(0, Math.max(at, 0))].find(hasKeyForm);
}

/** An error as Piston's clients read it. */
export function pistonError({ body: { error, message, id } }: Pick<ClientError, "body">): object {
  const text = message ?? error;
  return id === undefined ? { message: text } : { message: text, assay_id: id };
}
