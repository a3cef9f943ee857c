import type { FastifyInstance } from "fastify";
import satisfies from "semver/functions/satisfies.js";
import { z } from "zod";
import { clientError, echo } from "../../domain/error.ts";
import type { Language } from "../../domain/language.ts";
import type { Dependencies } from "../../http/dependencies.ts";
import { listed } from "../../languages/load.ts";
import { PISTON } from "./conventions.ts";

/** A language as Piston describes it. */
export interface Runtime {
  readonly language: string;
  readonly version: string;
  readonly aliases: readonly string[];
  /** Absent from the JSON if undefined. */
  readonly runtime: string | undefined;
}

/** The most characters of a version selector. Parsing a long one would take seconds. */
export const MAX_SELECTOR = 100;

/** How clients of Piston name a language, as its file in languages/ states it. */
const pistonName = z.strictObject({
  /** The name; absent if it is the same as ours. */
  language: z.string().optional(),
  /** Aliases in addition to those that the language has here. */
  aliases: z.array(z.string()).default([]),
  /** The name of Piston's package with the language; absent if it is that of the language. */
  runtime: z.string().optional(),
});

export function runtimeOf({
  name,
  aliases,
  label,
  foreignNames,
}: Pick<Language, "name" | "aliases" | "label" | "foreignNames">): Runtime {
  const { language = name, aliases: more, runtime } = pistonName.parse(foreignNames.piston ?? {});
  const others = new Set([name, ...aliases, ...more]);
  others.delete(language);
  return { language, version: versionOf(label), aliases: [...others], runtime };
}

/** The first version in a label, extended to three numbers: "14.0.0" for "C (GCC 14, C17)". C17 is a standard, not a version. */
function versionOf(label: string): string {
  const [, numbers = "0"] = /(?:^|[ (])(\d+(?:\.\d+){0,2})/.exec(label) ?? [];
  return [...numbers.split("."), "0", "0"].slice(0, 3).join(".");
}

/**
 * Finds a language that works now. @param name its name or an alias, in Piston or here.
 * @param selector Piston's selector of versions, such as `3.x`. @throws ClientError foreignRequest.
 */
export function findRuntime(
  name: string,
  selector: string,
  { workers, languages }: Pick<Dependencies, "workers" | "languages">,
): { readonly runtime: Runtime; readonly language: Language } {
  if (selector.length > MAX_SELECTOR)
    throw clientError("foreignRequest", [`version must have at most ${MAX_SELECTOR} characters`]);
  // Before the first smoke test has passed, all languages are found here. Then accept() refuses the program, with the reason.
  const available = workers.languages();
  for (const language of listed(languages)) {
    if (available.length > 0 && !available.includes(language.name)) continue;
    const runtime = runtimeOf(language);
    if (![runtime.language, ...runtime.aliases].includes(name)) continue;
    if (satisfies(runtime.version, selector)) return { runtime, language };
    throw clientError("foreignRequest", [
      `${echo(`${name}-${selector}`)} runtime is unknown; ${runtime.language} has the version ${runtime.version}`,
    ]);
  }
  throw clientError("foreignRequest", [
    `${echo(`${name}-${selector}`)} runtime is unknown; GET ${PISTON}/runtimes lists the runtimes`,
  ]);
}

/** Lists the languages that work now as runtimes, and all languages as packages. Operators can install packages; clients cannot. */
export function runtimesRoutes(server: FastifyInstance, { workers, languages }: Dependencies): void {
  server.get(`${PISTON}/runtimes`, async () =>
    listed(languages)
      .filter(({ name }) => workers.languages().includes(name))
      .map(runtimeOf),
  );

  server.get(`${PISTON}/packages`, async () =>
    listed(languages).map((one) => {
      const { language, version } = runtimeOf(one);
      return { language, language_version: version, installed: workers.languages().includes(one.name) };
    }),
  );

  const refuse = async (): Promise<never> => {
    throw clientError("foreignRefused", [
      "the operator of the service installs languages, with: assay languages add NAME",
    ]);
  };
  server.post(`${PISTON}/packages`, { config: { bodyless: true } }, refuse);
  server.delete(`${PISTON}/packages`, { config: { bodyless: true } }, refuse);
}
