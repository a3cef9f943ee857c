import type { ForeignRoutes } from "../../http/foreign-routes.ts";
import { connectRoute } from "./connect.ts";
import { PISTON, PISTON_CONNECT, pistonError, pistonKey } from "./conventions.ts";
import { executeRoute } from "./execute.ts";
import { runtimesRoutes } from "./runtimes.ts";

/** Piston's API, version 2, for existing clients of Piston. docs/piston.md lists the differences. */
export const PISTON_ROUTES: ForeignRoutes = {
  path: PISTON,
  keyOf: pistonKey,
  errorBody: pistonError,
  webSocketPath: PISTON_CONNECT,
  add: (server, services) => {
    const { dependencies, answers, stopping } = services;
    executeRoute(server, dependencies, answers, stopping);
    connectRoute(server, services);
    runtimesRoutes(server, dependencies);
  },
};
