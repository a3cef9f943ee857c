import type { IncomingHttpHeaders } from "node:http";
import type { ClientError } from "../../domain/error.ts";
import { hasKeyForm } from "../../domain/key.ts";

/** The path of Piston's API, version 2. Clients are configured with the part before `/api`. */
export const PISTON = "/piston/api/v2";
export const PISTON_CONNECT = `${PISTON}/connect`;

/**
 * How many times a request waits for as long as `wait=true` does, which is 10 minutes in all. `execute` waits for the end of the program,
 * and `connect` for its start. The time is long, because Piston's clients cannot ask again. It is limited, because the connection of a
 * client that has gone without notice must end at some time.
 */
export const MOST_WAITS = 20;

/**
 * The API key of a request. It is in `X-API-Key`, or in `Authorization`: alone, as a bearer token, or as the user name or the password.
 * Many clients take only a URL, and a URL can contain a user name and a password.
 */
export function pistonKey({ "x-api-key": key, authorization }: IncomingHttpHeaders): string | string[] | undefined {
  if (key !== undefined || authorization === undefined) return key;
  const [, scheme = "", value = authorization] = /^(bearer|basic) +(\S+)$/i.exec(authorization) ?? [];
  if (scheme.toLowerCase() !== "basic") return value;
  const pair = Buffer.from(value, "base64").toString();
  const at = pair.indexOf(":");
  return [pair.slice(at + 1), pair.slice(0, Math.max(at, 0))].find(hasKeyForm);
}

/** The body of an error in Piston's form. */
export function pistonError({ body: { error, message, id } }: Pick<ClientError, "body">): object {
  const text = message ?? error;
  return id === undefined ? { message: text } : { message: text, assay_id: id };
}
