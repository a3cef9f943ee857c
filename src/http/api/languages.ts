import type { FastifyInstance } from "fastify";
import type { Command } from "../../domain/language.ts";
import { type Limits, PROFILE_NAMES } from "../../domain/limits.ts";
import { inField, LIMIT_FIELD_NAMES } from "../../domain/program-options.ts";
import { listed } from "../../languages/load.ts";
import type { Dependencies } from "../dependencies.ts";

/** GET /api/languages and /api/languages/details: the canonical names, or the details, of the available languages. */
export function languagesRoutes(server: FastifyInstance, { workers, languages }: Dependencies): void {
  const available = () => listed(languages, workers.languages());
  server.get("/api/languages", async () => available().map(({ name }) => name));

  server.get("/api/languages/details", async () =>
    available().map((language) => {
      const limits = PROFILE_NAMES.map((profile) => {
        const { compile, execute } = languages.limitsFor(language, profile);
        return [profile, { compile: compile ? fieldsOf(compile) : null, execute: fieldsOf(execute) }];
      });
      return {
        name: language.name,
        label: language.label,
        aliases: language.aliases,
        source: language.source,
        compile: language.compile && commandOf(language.compile),
        execute: commandOf(language.execute),
        limits: Object.fromEntries(limits),
      };
    }),
  );
}

function commandOf({ command, env }: Command) {
  return { command, env };
}

/** The limits, with the names and units that the field `limits` of a request uses. */
function fieldsOf(limits: Limits) {
  return Object.fromEntries(LIMIT_FIELD_NAMES.map((field) => [field, inField(limits, field)]));
}
