import type { Language } from "../../src/domain/language.ts";
import { type Languages, loadLanguages } from "../../src/languages/load.ts";
import { LANGUAGES } from "../languages/directory.ts";

const all = loadLanguages(LANGUAGES);

/** The project's languages cut down to these, changed as told: a worker tries every one before it takes work. */
export function someLanguages(
  names: readonly string[],
  change: (language: Language) => Language = (language) => language,
): Languages {
  const list = names.map((name) => change(all.resolve(name) as Language));
  return {
    list: () => list,
    resolve: (name) => list.find((language) => language.name === name),
    limitsFor: all.limitsFor,
  };
}

/** A language whose hello says something else than it should. */
export function broken(language: Language): Language {
  return { ...language, hello: { ...language.hello, stdout: "something else\n" } };
}
