import { z } from "zod";
import type { Command } from "../../domain/language.ts";
import { LIMIT_FIELD_NAMES, type LimitField, type Limits, PROFILE_NAMES } from "../../domain/limits.ts";
import { inField } from "../../domain/program-options.ts";
import { listed } from "../../languages/load.ts";
import type { Dependencies } from "../dependencies.ts";
import { named } from "../named-schemas.ts";
import { route } from "../route.ts";
import { profile } from "./fields.ts";

const command = named(
  "Command",
  z.strictObject({ command: z.array(z.string()), env: z.record(z.string(), z.string()) }),
);
const limits = named(
  "Limits",
  z.strictObject(
    Object.fromEntries(LIMIT_FIELD_NAMES.map((field) => [field, z.number()])) as Record<LimitField, z.ZodNumber>,
  ),
);
const languageLimits = named("LanguageLimits", z.strictObject({ compile: limits.nullable(), execute: limits }));
const language = named(
  "Language",
  z.strictObject({
    name: z.string(),
    label: z.string().describe("Name of the language with its version and standard"),
    aliases: z.array(z.string()),
    source: z.string().describe("Name of the source file in /box"),
    compile: command.nullable(),
    execute: command,
    limits: z.record(profile, languageLimits),
  }),
);

export const languages = route({
  id: "languages",
  method: "get",
  path: "/api/languages",
  summary: "List the languages",
  description:
    "Lists the languages whose smoke test passed in a real sandbox. A worker runs all smoke tests at its start, and after that " +
    "one every two minutes, in turn.",
  successes: {
    200: {
      description: "The canonical names",
      body: named("Languages", z.array(z.string()).describe("The canonical names of the languages")),
    },
  },
  handler:
    ({ dependencies }) =>
    async () =>
      available(dependencies).map(({ name }) => name),
});

export const languageDetails = route({
  id: "languageDetails",
  method: "get",
  path: "/api/languages/details",
  summary: "Describe the languages",
  description: "Returns the version, commands and limits of each language that `/api/languages` lists.",
  successes: {
    200: { description: "One object for each language", body: named("LanguageDetails", z.array(language)) },
  },
  handler:
    ({ dependencies }) =>
    async () =>
      available(dependencies).map((language) => {
        const limits = PROFILE_NAMES.map((profile) => {
          const { compile, execute } = dependencies.languages.limitsFor(language, profile);
          return [profile, { compile: compile ? fieldsOf(compile) : null, execute: fieldsOf(execute) }];
        });
        return {
          name: language.name,
          label: language.label,
          aliases: [...language.aliases],
          source: language.source,
          compile: language.compile && commandOf(language.compile),
          execute: commandOf(language.execute),
          limits: Object.fromEntries(limits),
        };
      }),
});

function available({ languages, workers }: Pick<Dependencies, "languages" | "workers">) {
  return listed(languages, workers.languages());
}

function commandOf({ command, env }: Command) {
  return { command: [...command], env: { ...env } };
}

/** The limits, with the names and units that the field `limits` of a request uses. */
function fieldsOf(limits: Limits) {
  return Object.fromEntries(LIMIT_FIELD_NAMES.map((field) => [field, inField(limits, field)])) as Record<
    LimitField,
    number
  >;
}
