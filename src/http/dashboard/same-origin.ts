import type { FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";

const SAFE = ["GET", "HEAD"];
const JSON_TEXT = /^application\/json\s*(;|$)/i;
const ARCHIVE = /^application\/zip\s*(;|$)/i;

/**
 * Requests that change something must come from a page of this origin, because a browser can send the cookie also with requests from
 * other sites. Current browsers send Sec-Fetch-Site, which pages cannot set; older ones send Origin. A request with neither is not
 * from a browser and is rejected. A body must also be JSON, or an archive on the routes for archives: forms cannot send these types,
 * and pages of other origins can send them only with permission.
 * @throws ClientError foreignOrigin.
 */
export function checkSameOrigin(request: FastifyRequest): void {
  if (SAFE.includes(request.method)) return;
  const { "sec-fetch-site": site, origin, "content-type": type } = request.headers;
  const isSameOrigin =
    site === undefined
      ? origin === `${request.protocol}://${request.host}`
      : site === "same-origin" && origin !== "null";
  const media = request.routeOptions.config?.archive ? ARCHIVE : JSON_TEXT;
  if (!isSameOrigin || (type !== undefined && !media.test(type))) throw clientError("foreignOrigin", []);
}
