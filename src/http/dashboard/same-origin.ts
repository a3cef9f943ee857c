import type { FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";

const SAFE = ["GET", "HEAD"];

/**
 * Changes must come from a page of this origin, because the cookie is also sent with cross-site requests. Current
 * browsers send Sec-Fetch-Site, which pages cannot set; older ones send Origin. A request with neither is not from a
 * browser and is rejected. The body must also be JSON, which forms cannot send, and which pages can send cross-origin
 * only with permission.
 * @throws ClientError foreignOrigin.
 */
export function checkSameOrigin(request: FastifyRequest): void {
  if (SAFE.includes(request.method)) return;
  const { "sec-fetch-site": site, origin, "content-type": type } = request.headers;
  const ours =
    site === undefined
      ? origin === `${request.protocol}://${request.host}`
      : site === "same-origin" && origin !== "null";
  const isJson = type === undefined || /^application\/json\s*(;|$)/i.test(type);
  if (!ours || !isJson) throw clientError("foreignOrigin", []);
}
