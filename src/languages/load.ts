import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import type { z } from "zod";
import type { Command, Language, LimitOverrides } from "../domain/language.ts";
import { type Limits, PROFILE_NAMES, type ProfileName, type StepLimits } from "../domain/limits.ts";
import { readPack } from "./packs.ts";
import { brokenRules } from "./rules.ts";
import { builtInSchema, invalidFile, type Profiles, profilesSchema, readDataFile } from "./schema.ts";

const PROFILES_FILE = "profiles.json";
export const EXAMPLES_FILE = "examples.json";

/** The built-in languages and the installed packs, including those that do not work on this machine. */
export interface Languages {
  /** Finds a language by its name or an alias, which must be in lower case. */
  resolve(nameOrAlias: string): Language | undefined;
  /** All languages, ordered by name. */
  list(): readonly Language[];
  /** The limits of a language in a profile. `compile` is absent if the language has no compile step. */
  limitsFor(language: Language, profile: ProfileName): StepLimits;
}

/**
 * Reads languages/*.json, languages/profiles.json and the named packs. The base environment of the profiles is merged into
 * every command.
 * @throws LanguageFileError at the first invalid file: a service with wrong limits must not start.
 */
export function loadLanguages(directory: string, packs: readonly string[] = []): Languages {
  const profiles = readDataFile(join(directory, PROFILES_FILE), profilesSchema);
  const byName = new Map<string, Language>();
  const list: Language[] = [];

  const found = [...readBuiltIns(directory).map(toLanguage), ...packs.map((name) => readPack(directory, name))];
  found.sort((a, b) => (basename(a.path) < basename(b.path) ? -1 : 1));
  for (const { path, language: own } of found) {
    const language = withBaseEnvironment(own, profiles);
    if (language.name !== basename(path, ".json")) invalidFile(path, `its name is ${language.name}`);
    for (const name of [language.name, ...language.aliases]) {
      const other = byName.get(name);
      if (other) invalidFile(path, `the name ${name} is already used by ${other.name}`);
      byName.set(name, language);
    }
    checkLimits(path, language, profiles);
    list.push(language);
  }
  if (list.length === 0) invalidFile(directory, "the directory has no language files");

  const limits = new Map(
    list.map((language) => {
      const ofProfiles = PROFILE_NAMES.map((profile) => [profile, limitsOf(language, profile, profiles)] as const);
      return [language.name, Object.fromEntries(ofProfiles) as Record<ProfileName, StepLimits>];
    }),
  );
  return {
    resolve: (nameOrAlias) => byName.get(nameOrAlias),
    list: () => list,
    limitsFor: ({ name }, profile) => {
      const found = limits.get(name);
      if (!found) throw new Error(`there is no language ${name}`);
      return found[profile];
    },
  };
}

/** A file in languages/: the language, and what tests and the dashboard need. */
export interface BuiltIn {
  readonly path: string;
  readonly data: z.output<typeof builtInSchema>;
}

/** Reads the files of the built-in languages. @throws LanguageFileError */
export function readBuiltIns(directory: string): BuiltIn[] {
  return readdirSync(directory)
    .filter((file) => file.endsWith(".json") && ![PROFILES_FILE, EXAMPLES_FILE].includes(file))
    .map((file) => join(directory, file))
    .map((path) => ({ path, data: readDataFile(path, builtInSchema) }));
}

function toLanguage({ path, data }: BuiltIn): { readonly path: string; readonly language: Language } {
  const { examples: _examples, matrix: _matrix, grammar: _grammar, ...language } = data;
  return { path, language: language as Language };
}

/** The limits of a profile, for languages that change none. @throws LanguageFileError */
export function profileLimits(directory: string, profile: ProfileName): Required<StepLimits> {
  return readDataFile(join(directory, PROFILES_FILE), profilesSchema)[profile];
}

/** The languages that users can choose by name. @param names only these languages, in this order; all languages by default. */
export function listed(languages: Pick<Languages, "list" | "resolve">, names?: readonly string[]): Language[] {
  const found = names ? names.flatMap((name) => languages.resolve(name) ?? []) : languages.list();
  return found.filter(({ unlisted }) => !unlisted);
}

function checkLimits(path: string, language: Language, profiles: Profiles): void {
  for (const profile of PROFILE_NAMES) {
    if (!language.compile && language.limits[profile]?.compile) {
      invalidFile(path, `${profile} has limits for a compile step, but the language has no compile step`);
    }
    const [broken] = brokenRules(limitsOf(language, profile, profiles));
    if (broken) invalidFile(path, `${profile}, ${broken}`);
  }
}

function limitsOf(language: Language, profile: ProfileName, profiles: Profiles): StepLimits {
  const changes = language.limits[profile] ?? {};
  const execute = changed(profiles[profile].execute, changes.execute);
  if (!language.compile) return { execute };
  return { compile: changed(profiles[profile].compile, changes.compile), execute };
}

function changed(base: Limits, overrides: LimitOverrides = {}): Limits {
  const values = Object.entries(overrides).map(([name, override]) => [name, override.value]);
  return { ...base, ...Object.fromEntries(values) };
}

function withBaseEnvironment(language: Language, profiles: Profiles): Language {
  const merged = (command: Command): Command => ({ ...command, env: { ...profiles.env, ...command.env } });
  return { ...language, compile: language.compile && merged(language.compile), execute: merged(language.execute) };
}

/** Languages as plain data, which can be sent to another thread. */
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
