import { isIP } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";

/**
 * Headers of every response. Most responses are data. A browser that opens one must not run it, show it in a frame, cache it or guess its
 * type. Responses with pages replace some of these headers.
 */
export const ALWAYS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/** Browsers must use HTTPS for a year, on this host but not on its subdomains. */
const HTTPS_ONLY = "max-age=31536000";

/** @param secure whether clients use HTTPS. Over plain HTTP, Strict-Transport-Security (HSTS) must not be sent. */
export function addHeaders(request: FastifyRequest, reply: FastifyReply, secure: boolean): void {
  reply.headers({ ...ALWAYS, "x-request-id": request.id });
  if (secure && isOwnName(request.hostname)) reply.header("strict-transport-security", HTTPS_ONLY);
}

/**
 * Whether a host is a name, and not localhost. For localhost, HSTS would make a browser refuse plain HTTP to every other program there;
 * for an address, browsers ignore HSTS.
 */
function isOwnName(host: string): boolean {
  return (
    host !== "" && host !== "localhost" && !host.endsWith(".localhost") && isIP(host.replace(/^\[|\]$/g, "")) === 0
  );
}
