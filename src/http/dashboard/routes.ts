import type { FastifyInstance } from "fastify";
import type { ProblemImports } from "../api/import-problem.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import { StreamBudget } from "../responses/stream-budget.ts";
import { accountRoutes } from "./accounts.ts";
import { auditRoutes } from "./audit.ts";
import { changesRoute } from "./changes.ts";
import { compareRoute } from "./compare.ts";
import { compactAnswers } from "./compress.ts";
import { deliveryRoutes } from "./deliveries.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { endpointRoutes } from "./endpoints.ts";
import { exportRoute } from "./export.ts";
import { firstStepsRoute } from "./first-steps.ts";
import { healthRoutes } from "./health.ts";
import { invitationRoutes } from "./invitations.ts";
import { judgementLiveRoute } from "./judgement-live.ts";
import { judgementRoutes } from "./judgements.ts";
import { keyRoutes } from "./keys.ts";
import { languageRoutes } from "./languages.ts";
import { liveRoute } from "./live.ts";
import { meRoutes } from "./me.ts";
import { memberRoutes } from "./members.ts";
import { nodeRoutes } from "./nodes.ts";
import { overviewRoutes } from "./overview.ts";
import { Passwords } from "./passwords.ts";
import { playgroundRoutes } from "./playground.ts";
import { problemRoutes } from "./problems.ts";
import { projectRoutes } from "./projects.ts";
import { Provider } from "./provider.ts";
import { providerRoutes } from "./provider-routes.ts";
import { runPartRoutes } from "./run-parts.ts";
import type { SessionGuard } from "./session.ts";
import { settingsRoutes } from "./settings.ts";
import { signInRoutes } from "./sign-in.ts";
import { judgingRoutes } from "./start-judgement.ts";
import { fileRoutes } from "./static-routes.ts";
import { submissionRoutes } from "./submissions.ts";
import { tierRoutes } from "./tiers.ts";

/**
 * The most streams that a person may have open at once: those of submissions, judgements and lists, and one with the changes for each
 * visible page. Each stream holds a connection, and connections per network are limited.
 */
const MAX_WATCHED = 16;

interface Shared {
  readonly answers: LongAnswers;
  readonly imports: ProblemImports;
  /** Aborts when the service stops. */
  readonly ended: AbortSignal;
}

/** Adds all routes below /dashboard. */
export function dashboardRoutes(
  server: FastifyInstance,
  d: DashboardDependencies,
  sessions: SessionGuard,
  { answers, imports, ended }: Shared,
): void {
  const { store, log, ownAuthority } = d;
  const streams = new StreamBudget(MAX_WATCHED);
  const provider = d.provider && new Provider(d.provider);
  compactAnswers(server);
  const context = { store, sessions, passwords: new Passwords(store), provider, ownAuthority };
  fileRoutes(server, d.dashboardDir);
  signInRoutes(server, context);
  providerRoutes(server, context, log);
  invitationRoutes(server, context);
  meRoutes(server, context);
  memberRoutes(server, d);
  overviewRoutes(server, d);
  changesRoute(server, d, answers, streams, ended);
  submissionRoutes(server, d, answers, streams, ended);
  exportRoute(server, d, answers);
  firstStepsRoute(server, d);
  playgroundRoutes(server, d, answers);
  runPartRoutes(server, d, answers);
  liveRoute(server, d, answers, streams, ended);
  judgementRoutes(server, d, answers, streams, ended);
  judgingRoutes(server, d, answers);
  compareRoute(server, d, answers);
  judgementLiveRoute(server, d, answers, streams, ended);
  problemRoutes(server, d, imports);
  healthRoutes(server, d);
  projectRoutes(server, d);
  keyRoutes(server, d);
  endpointRoutes(server, d);
  deliveryRoutes(server, d, answers);
  languageRoutes(server, d);
  nodeRoutes(server, d);
  auditRoutes(server, d);
  settingsRoutes(server, d);
  tierRoutes(server, d);
  accountRoutes(server, d);
}
