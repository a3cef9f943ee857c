import { isIP } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";

/**
 * Headers of every response. API responses are data: a browser that opens one must not run, frame, cache or sniff it.
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

/** One year, without subdomains. */
const HTTPS_ONLY = "max-age=31536000";

/** @param secure whether the client used HTTPS: over plain HTTP, HSTS must not be sent. */
export function addHeaders(request: FastifyRequest, reply: FastifyReply, secure: boolean): void {
  reply.headers({ ...ALWAYS, "x-request-id": request.id });
  if (secure && isOwnName(request.hostname)) reply.header("strict-transport-security", HTTPS_ONLY);
}

/** HSTS for localhost would make a browser refuse plain HTTP to every other program on localhost. */
function isOwnName(host: string): boolean {
  return (
    host !== "" && host !== "localhost" && !host.endsWith(".localhost") && isIP(host.replace(/^\[|\]$/g, "")) === 0
  );
}
