import type { ForeignRoutes } from "../http/foreign-routes.ts";
import { JUDGE0_ROUTES } from "./judge0/routes.ts";
import { PISTON_ROUTES } from "./piston/routes.ts";

/** The routes for clients of other services. */
export const FOREIGN_ROUTES: readonly ForeignRoutes[] = [JUDGE0_ROUTES, PISTON_ROUTES];
