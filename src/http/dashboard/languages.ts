import type { Command } from "../../domain/language.ts";
import { type Limits, PROFILE_NAMES } from "../../domain/limits.ts";
import { listed } from "../../languages/load.ts";
import type { Language, StepLimits } from "./api/languages.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";

/** GET /dashboard/api/languages: the configured languages, with example programs. */
export const languageRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/languages",
    session: "member",
    handler:
      ({ dependencies: { workers, languages, examples } }) =>
      async (): Promise<Language[]> => {
        const { checks } = await workers.readiness();
        const available = workers.languages();
        return listed(languages).map((language) => {
          const { name, aliases, label, compile, execute } = language;
          const limits = PROFILE_NAMES.map((profile) => {
            const of = languages.limitsFor(language, profile);
            return [profile, { compile: of.compile ? shown(of.compile) : null, execute: shown(of.execute) }] as const;
          });
          return {
            name,
            aliases,
            version: label,
            available: available.includes(name),
            detail: checks.find((check) => check.name === name)?.detail ?? "not tested yet",
            compile: compile && line(compile),
            execute: line(execute),
            limits: Object.fromEntries(limits) as Language["limits"],
            examples: examples.get(name) ?? [],
          };
        });
      },
  }),
];

function line({ command }: Command): string {
  return command.join(" ");
}

function shown({ wallMs, cpuMs, memoryBytes, processes, fileBytes }: Limits): StepLimits {
  return { wallMs, cpuMs, memoryBytes, processes, fileBytes };
}
