import type { IncomingHttpHeaders } from "node:http";

export const JUDGE0 = "/judge0";

/** The key of a request. The first of the headers that it has counts. */
export function judge0Key(headers: IncomingHttpHeaders): string | string[] | undefined {
  return headers["x-auth-token"] ?? headers["x-api-key"] ?? headers.authorization?.replace(/^Bearer /i, "");
}
