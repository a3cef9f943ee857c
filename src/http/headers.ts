import { isIP } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";

/**
 * What every answer carries. An answer of the API is data for a program: a browser that is led to
 * one must neither run, frame, cache nor guess anything.
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

/** A year, for this name alone. */
const HTTPS_ONLY = "max-age=31536000";

/** @param secure whether the client used HTTPS: over plain HTTP nobody may say that it is required. */
export function addHeaders(request: FastifyRequest, reply: FastifyReply, secure: boolean): void {
  reply.headers({ ...ALWAYS, "x-request-id": request.id });
  if (secure && isOwnName(request.hostname)) reply.header("strict-transport-security", HTTPS_ONLY);
}

/** A browser that learns it of localhost would refuse plain HTTP to every other program there. */
function isOwnName(host: string): boolean {
  return (
    host !== "" && host !== "localhost" && !host.endsWith(".localhost") && isIP(host.replace(/^\[|\]$/g, "")) === 0
  );
}
