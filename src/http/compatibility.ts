import type { IncomingHttpHeaders } from "node:http";
import type { ClientError } from "../domain/error.ts";
import { JUDGE0, judge0Key } from "./judge0/conventions.ts";
import { MCP_PATH, mcpKey } from "./mcp/conventions.ts";
import { PISTON, pistonError, pistonKey } from "./piston/conventions.ts";

/** An API for the clients of another service or protocol. Below its path, keys and errors have the form that those clients expect. */
interface OtherApi {
  readonly path: string;
  readonly keyOf: (headers: IncomingHttpHeaders) => string | string[] | undefined;
  /** Absent if errors have the same form as in our own API. */
  readonly errorBody?: (error: ClientError) => object;
}

const APIS: readonly OtherApi[] = [
  { path: JUDGE0, keyOf: judge0Key },
  { path: MCP_PATH, keyOf: mcpKey },
  { path: PISTON, keyOf: pistonKey, errorBody: pistonError },
];

/** @returns the API to whose path the URL belongs, even if it has no such route; undefined for our own API. */
export function otherApi(url: string): OtherApi | undefined {
  return APIS.find(({ path }) => url.startsWith(path) && /^[/?]?$/.test(url.charAt(path.length)));
}

/** Removes a slash at the end of a path of these APIs. The original services accept it, and their clients often send it. */
export function withoutLastSlash(url: string): string {
  const [path = ""] = url.split("?", 1);
  return path.endsWith("/") && otherApi(path) ? path.slice(0, -1) + url.slice(path.length) : url;
}
