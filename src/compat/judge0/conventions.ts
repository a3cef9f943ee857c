import type { IncomingHttpHeaders } from "node:http";

/** The path of Judge0's routes. */
export const JUDGE0 = "/judge0";
/** The name of the API in stored submissions. */
export const JUDGE0_NAME = "judge0";

/** The scripts that run a program of several files, in the order in which they are looked for. */
export const SCRIPTS: readonly string[] = ["run.sh", "run"];

/** The API key of a request, from the first of these headers that the request has: X-Auth-Token, X-API-Key, Authorization. */
export function judge0Key(headers: IncomingHttpHeaders): string | string[] | undefined {
  return headers["x-auth-token"] ?? headers["x-api-key"] ?? headers.authorization?.replace(/^Bearer /i, "");
}
