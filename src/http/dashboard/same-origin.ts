import type { FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";

const SAFE = ["GET", "HEAD"];

/**
 * What changes anything must come from a page of our own: the cookie goes along with requests of others, too. Every browser
 * of today says by Sec-Fetch-Site where a request comes from, and no page can write that; one that is older says Origin.
 * A request with neither is of no browser, and has no business with a cookie. Beside that the body must be JSON, which
 * no form can send and no page may send elsewhere without being allowed to.
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
