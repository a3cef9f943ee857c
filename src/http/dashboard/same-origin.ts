import type { FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";
import { asksForWebSocket } from "../listener/upgrade.ts";

const SAFE = ["GET", "HEAD"];
const JSON_TEXT = /^application\/json\s*(;|$)/i;
const ARCHIVE = /^application\/zip\s*(;|$)/i;
const BYTES = /^application\/octet-stream$/i;

/**
 * Requests that change something must come from a page of this origin, because a browser can send the cookie also with requests from
 * other sites. Current browsers send Sec-Fetch-Site, which pages cannot set; older ones send Origin. A request with neither is not
 * from a browser and is rejected. A body must also be JSON, or an archive or bytes on the routes for these: forms cannot send these types,
 * and pages of other origins can send them only with permission. A request for a WebSocket is a GET that a page of any origin can send,
 * with the cookie if it is on another port of this host, so it must have the Origin of this service, which every browser sends.
 * @throws ClientError foreignOrigin.
 */
export function checkSameOrigin(request: FastifyRequest): void {
  const { "sec-fetch-site": site, origin, "content-type": type } = request.headers;
  const isOwn = origin === `${request.protocol}://${request.host}`;
  if (asksForWebSocket(request.raw) && !isOwn) throw clientError("foreignOrigin", []);
  if (SAFE.includes(request.method)) return;
  const isSameOrigin = site === undefined ? isOwn : site === "same-origin" && origin !== "null";
  const { archive, streams } = request.routeOptions.config ?? {};
  const media = archive ? ARCHIVE : streams ? BYTES : JSON_TEXT;
  if (!isSameOrigin || (type !== undefined && !media.test(type))) throw clientError("foreignOrigin", []);
}
