import type { FastifyInstance } from "fastify";
import type { DashboardDependencies } from "./dependencies.ts";
import { liveRoute } from "./live.ts";
import { overviewRoutes } from "./overview.ts";
import { playgroundRoutes } from "./playground.ts";
import type { Guard } from "./session.ts";
import { signInRoutes } from "./sign-in.ts";
import { submissionRoutes } from "./submissions.ts";

/** All routes below /dashboard, one line for each group. @param ended the service answers everybody who waits, and stops. */
export function dashboardRoutes(
  server: FastifyInstance,
  d: DashboardDependencies,
  guard: Guard,
  ended: AbortSignal,
): void {
  signInRoutes(server, d, guard);
  overviewRoutes(server, d);
  submissionRoutes(server, d);
  playgroundRoutes(server, d);
  liveRoute(server, d, ended);
}
