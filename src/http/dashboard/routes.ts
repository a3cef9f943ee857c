import type { FastifyInstance } from "fastify";
import type { DashboardDependencies } from "./dependencies.ts";
import type { Guard } from "./session.ts";
import { signInRoutes } from "./sign-in.ts";

/** All routes below /dashboard, one line for each group. */
export function dashboardRoutes(server: FastifyInstance, d: DashboardDependencies, guard: Guard): void {
  signInRoutes(server, d, guard);
}
