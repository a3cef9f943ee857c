import type { Language } from "../../../src/domain/language.ts";
import { type Languages, loadLanguages } from "../../../src/languages/load.ts";
import { LANGUAGES } from "../languages/directory.ts";

const all = loadLanguages(LANGUAGES);

/** Only these languages of the project, changed by `change`: a worker runs every smoke test before it claims work. */
export function someLanguages(
  names: readonly string[],
  change: (language: Language) => Language = (language) => language,
): Languages {
  const list = names.map((name) => change(all.resolve(name) as Language));
  return {
    ...all,
    list: () => list,
    resolve: (name) => list.find((language) => language.name === name),
  };
}

/** A language whose smoke test prints something else than expected. */
export function broken(language: Language): Language {
  return { ...language, smokeTest: { ...language.smokeTest, stdout: "something else\n" } };
}
