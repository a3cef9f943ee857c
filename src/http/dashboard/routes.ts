import type { FastifyInstance } from "fastify";
import { StreamBudget } from "../responses/stream-budget.ts";
import type { Services } from "../route.ts";
import { accountRoutes } from "./accounts.ts";
import { auditRoutes } from "./audit.ts";
import { changesRoutes } from "./changes.ts";
import { compareRoutes } from "./compare.ts";
import { compactAnswers } from "./compress.ts";
import { deliveryRoutes } from "./deliveries.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { endpointRoutes } from "./endpoints.ts";
import { exportRoutes } from "./export.ts";
import { firstStepsRoutes } from "./first-steps.ts";
import { healthRoutes } from "./health.ts";
import { invitationRoutes } from "./invitations.ts";
import { judgementLiveRoutes } from "./judgement-live.ts";
import { judgementRoutes } from "./judgements.ts";
import { keyRoutes } from "./keys.ts";
import { languageRoutes } from "./languages.ts";
import { liveRoutes } from "./live.ts";
import { meRoutes } from "./me.ts";
import { memberRoutes } from "./members.ts";
import { networkRoutes } from "./network.ts";
import { newSandboxRoutes } from "./new-sandbox.ts";
import { nodeRoutes } from "./nodes.ts";
import { overviewRoutes } from "./overview.ts";
import { Passwords } from "./passwords.ts";
import { playgroundRoutes } from "./playground.ts";
import { problemRoutes } from "./problems.ts";
import { projectRoutes } from "./projects.ts";
import { Provider } from "./provider.ts";
import { providerRoutes } from "./provider-routes.ts";
import { addDashboardRoutes, type DashboardRoute } from "./route.ts";
import { runPartRoutes } from "./run-parts.ts";
import { sandboxFileRoutes } from "./sandbox-files.ts";
import { sandboxLiveRoutes } from "./sandbox-live.ts";
import { sandboxTerminalRoutes } from "./sandbox-terminal.ts";
import { sandboxRoutes } from "./sandboxes.ts";
import type { SessionGuard } from "./session.ts";
import { settingsRoutes } from "./settings.ts";
import { signInRoutes } from "./sign-in.ts";
import { snapshotRoutes } from "./snapshots.ts";
import { judgingRoutes } from "./start-judgement.ts";
import { fileRoutes } from "./static-routes.ts";
import { submissionRoutes } from "./submissions.ts";
import { tierRoutes } from "./tiers.ts";

/**
 * The most streams that a person may have open at once: those of submissions, judgements and lists, and one with the changes for each
 * visible page. Each stream holds a connection, and connections per network are limited.
 */
const MAX_WATCHED = 16;

/** All routes of the dashboard's API. */
export const DASHBOARD_ROUTES: readonly DashboardRoute[] = [
  ...signInRoutes,
  ...providerRoutes,
  ...invitationRoutes,
  ...meRoutes,
  ...memberRoutes,
  ...overviewRoutes,
  ...changesRoutes,
  ...submissionRoutes,
  ...exportRoutes,
  ...firstStepsRoutes,
  ...playgroundRoutes,
  ...runPartRoutes,
  ...liveRoutes,
  ...judgementRoutes,
  ...judgingRoutes,
  ...compareRoutes,
  ...judgementLiveRoutes,
  ...problemRoutes,
  ...newSandboxRoutes,
  ...sandboxRoutes,
  ...sandboxLiveRoutes,
  ...sandboxTerminalRoutes,
  ...sandboxFileRoutes,
  ...snapshotRoutes,
  ...healthRoutes,
  ...projectRoutes,
  ...networkRoutes,
  ...keyRoutes,
  ...endpointRoutes,
  ...deliveryRoutes,
  ...languageRoutes,
  ...nodeRoutes,
  ...auditRoutes,
  ...settingsRoutes,
  ...tierRoutes,
  ...accountRoutes,
];

/** Adds all routes below /dashboard: its API, and the files of its pages. */
export function dashboardRoutes(
  server: FastifyInstance,
  sessions: SessionGuard,
  services: Services & { readonly dependencies: DashboardDependencies },
): void {
  const { dashboardDir, provider, store } = services.dependencies;
  compactAnswers(server);
  fileRoutes(server, dashboardDir);
  addDashboardRoutes(server, DASHBOARD_ROUTES, {
    ...services,
    sessions,
    streams: new StreamBudget(MAX_WATCHED),
    passwords: new Passwords(store),
    provider: provider && new Provider(provider),
  });
}
