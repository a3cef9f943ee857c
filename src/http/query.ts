import type { FastifyRequest } from "fastify";
import { clientError, echo } from "../domain/error.ts";
import { OPERATIONS } from "./operations.ts";

/** Unknown parameters that are named in the error; more of them would only make it long. */
const MAX_NAMED = 5;

/** The query parameters of each route of the API, by its URL as the router has it. */
const KNOWN = new Map(
  OPERATIONS.map(({ path, parameters }) => [
    path.replaceAll(/\{(\w+)\}/g, ":$1"),
    parameters.filter((one) => one.in === "query").map(({ name }) => name),
  ]),
);

/** A parameter that is misspelt would otherwise be left out without a word. @throws ClientError unknownQuery. */
export function checkQuery({ query, routeOptions }: FastifyRequest): void {
  const known = KNOWN.get(routeOptions.url ?? "");
  if (!known) return;
  const unknown = Object.keys(query as object).filter((name) => !known.includes(name));
  if (unknown.length > 0) throw clientError("unknownQuery", [unknown.slice(0, MAX_NAMED).map(echo).join(", ")]);
}
