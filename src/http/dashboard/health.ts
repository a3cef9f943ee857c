import type { Readiness } from "../../domain/readiness.ts";
import { meaningOf } from "../../domain/remedies.ts";
import type { Languages } from "../../languages/load.ts";
import type { Health, HealthCheck } from "./api/overview.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";

/** GET /dashboard/api/health: whether the service is ready, with the explanations of `assay doctor` for failed checks. */
export const healthRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/health",
    session: "member",
    handler:
      ({ dependencies }) =>
      async ({ person }): Promise<Health> => {
        const [readiness, latencyMs] = await Promise.all([
          dependencies.workers.readiness(),
          latencyOf(dependencies.store),
        ]);
        return {
          ready: readiness.ready,
          cgroupBackend: readiness.cgroupBackend,
          checks: checkAnswers(readiness, dependencies.languages, person.administrator),
          database: { kind: dependencies.databaseKind, latencyMs },
        };
      },
  }),
];

/** @param whole whether `detail` has the full text of a platform fault, which can contain paths of the host. */
export function checkAnswers({ checks }: Readiness, languages: Languages, whole: boolean): HealthCheck[] {
  return checks.map(({ name, ok, detail, fault }) => {
    const shown = { name, ok, detail: (whole && fault) || detail };
    if (ok) return shown;
    const { means, remedy } = meaningOf(languages.resolve(name) ? "language" : name) ?? {};
    return { ...shown, ...(means !== undefined && { means }), ...(remedy !== undefined && { remedy }) };
  });
}

/** The milliseconds that the database takes to respond. @returns null if it does not respond. */
async function latencyOf({ ping }: DashboardDependencies["store"]): Promise<number | null> {
  const started = performance.now();
  try {
    await ping();
    return performance.now() - started;
  } catch {
    return null;
  }
}
