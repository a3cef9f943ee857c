import type { FastifyRequest } from "fastify";
import { clientError, echo } from "../../domain/error.ts";
import { OPERATIONS } from "../openapi/operations.ts";

/** The most unknown parameters that an error names. */
const MAX_NAMED = 5;

/** The query parameters of each API route, by method and path. Parameters in a path have the form of the router, such as `:id`. */
const KNOWN = new Map(
  OPERATIONS.map(({ method, path, parameters }) => [
    `${method} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`,
    parameters.filter((one) => one.in === "query").map(({ name }) => name),
  ]),
);

/** Rejects unknown parameters, because a misspelt parameter would otherwise have no effect. @throws ClientError unknownQuery. */
export function checkQuery({ method, query, routeOptions }: FastifyRequest): void {
  const known = KNOWN.get(`${method === "HEAD" ? "get" : method.toLowerCase()} ${routeOptions.url}`);
  if (!known) return;
  const unknown = Object.keys(query as object).filter((name) => !known.includes(name));
  if (unknown.length > 0) throw clientError("unknownQuery", [unknown.slice(0, MAX_NAMED).map(echo).join(", ")]);
}

/** The value of the query parameter `wait`; false without it. @throws ClientError badWait. */
export function readWait(query: unknown): boolean {
  const { wait } = query as Record<string, unknown>;
  if (wait === undefined || wait === "false") return false;
  if (wait === "true") return true;
  throw clientError("badWait", [echo(String(wait))]);
}
