import type { IncomingHttpHeaders } from "node:http";
import type { ClientError } from "../domain/error.ts";
import { JUDGE0, judge0Key } from "./judge0/conventions.ts";
import { MCP_PATH, mcpKey } from "./mcp/conventions.ts";
import { PISTON, pistonError, pistonKey } from "./piston/conventions.ts";

/** The API of another service: below its path, keys and errors have the form that the clients of that service expect. */
interface OtherApi {
  readonly path: string;
  readonly keyOf: (headers: IncomingHttpHeaders) => string | string[] | undefined;
  /** Absent: the errors are ours. */
  readonly errorBody?: (error: ClientError) => object;
}

const APIS: readonly OtherApi[] = [
  { path: JUDGE0, keyOf: judge0Key },
  { path: MCP_PATH, keyOf: mcpKey },
  { path: PISTON, keyOf: pistonKey, errorBody: pistonError },
];

/** @returns the API to which the path of a request belongs, also if there is no such route; undefined for our own. */
export function otherApi(url: string): OtherApi | undefined {
  return APIS.find(({ path }) => url.startsWith(path) && /^[/?]?$/.test(url.charAt(path.length)));
}

/** The servers of these services accept a path with a slash at its end, and their clients often send one. */
export function withoutLastSlash(url: string): string {
  const [path = ""] = url.split("?", 1);
  return path.endsWith("/") && otherApi(path) ? path.slice(0, -1) + url.slice(path.length) : url;
}
