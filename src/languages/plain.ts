import type { Language } from "../domain/language.ts";
import { PROFILE_NAMES, type StepLimits } from "../domain/limits.ts";
import type { Languages } from "./load.ts";

/** Languages as plain data, for another thread. */
export type PlainLanguages = readonly {
  readonly language: Language;
  readonly limits: { readonly [P in (typeof PROFILE_NAMES)[number]]: StepLimits };
}[];

export function toPlain(languages: Languages): PlainLanguages {
  return languages.list().map((language) => {
    const limits = PROFILE_NAMES.map((profile) => [profile, languages.limitsFor(language, profile)]);
    return { language, limits: Object.fromEntries(limits) as PlainLanguages[number]["limits"] };
  });
}

export function fromPlain(plain: PlainLanguages): Languages {
  const names = plain.flatMap((one) =>
    [one.language.name, ...one.language.aliases].map((name) => [name, one] as const),
  );
  const byName = new Map(names);
  return {
    resolve: (nameOrAlias) => byName.get(nameOrAlias)?.language,
    list: () => plain.map(({ language }) => language),
    limitsFor: ({ name }, profile) => {
      const found = byName.get(name);
      if (!found) throw new Error(`there is no language ${name}`);
      return found.limits[profile];
    },
  };
}
