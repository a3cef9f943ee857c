import type { FastifyInstance } from "fastify";
import type { DashboardDependencies } from "./dependencies.ts";
import { fileRoutes } from "./files.ts";
import { invitationRoutes } from "./invitations.ts";
import { meRoutes } from "./me.ts";
import { memberRoutes } from "./members.ts";
import { Passwords } from "./passwords.ts";
import { Provider } from "./provider.ts";
import { providerRoutes } from "./provider-routes.ts";
import type { Guard } from "./session.ts";
import { signInRoutes } from "./sign-in.ts";

/** All routes below /dashboard, one line for each group. */
export function dashboardRoutes(server: FastifyInstance, d: DashboardDependencies, guard: Guard): void {
  const { store, log } = d;
  const provider = d.provider && new Provider(d.provider);
  const door = { store, guard, passwords: new Passwords(store), provider };
  fileRoutes(server, d.dashboardDir);
  signInRoutes(server, door);
  providerRoutes(server, door, log);
  invitationRoutes(server, door);
  meRoutes(server, door);
  memberRoutes(server, d);
}
