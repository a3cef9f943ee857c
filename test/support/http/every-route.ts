import { ROUTES } from "../../../src/http/api/routes.ts";

/** A request for each route of the public API, with an id that does not exist. */
export const EVERY_ROUTE = ROUTES.map(({ method, path }) => ({
  method: method.toUpperCase(),
  path: path.replaceAll(/\{\w+\}/g, "00000000-0000-4000-8000-000000000000"),
  ...(["post", "put", "patch"].includes(method) && { body: {} }),
}));
