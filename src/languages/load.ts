import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import type { z } from "zod";
import { type Ceilings, NO_CEILINGS } from "../domain/ceilings.ts";
import type { Command, Language, LimitOverrides, StepOverrides } from "../domain/language.ts";
import { type Limits, PROFILE_NAMES, type ProfileName, type StepLimits, type TestLimits } from "../domain/limits.ts";
import { OperatorError } from "../domain/operator-error.ts";
import { readPack } from "./packs.ts";
import { brokenRules } from "./rules.ts";
import {
  builtInSchema,
  invalidFile,
  type JudgementLimits,
  type Profiles,
  profilesSchema,
  readDataFile,
} from "./schema.ts";
import { atMost, fromFields, higher, withChanges } from "./stated-limits.ts";

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
  /** The limits for a run on a test. */
  limitsForTest(language: Language, profile: ProfileName, limits: TestLimits): StepLimits;
  /** The limits of a checker, an interactor or a validator. */
  limitsForChecker(language: Language, limits: TestLimits): StepLimits;
  /** The highest limits that a problem can state for programs in this language. */
  ceilingsFor(language: Language, profile: ProfileName): StepLimits;
  allLimits(language: Language): LanguageLimits;
  /** The most bytes of the source of a program that is judged. */
  readonly mostSourceBytes: number;
}

/** All limits of a language. */
interface LanguageLimits {
  readonly profiles: Readonly<Record<ProfileName, StepLimits>>;
  /** The limits for a run on a test that states none, by profile. */
  readonly tests: Readonly<Record<ProfileName, StepLimits>>;
  /** The limits of checkers whose problem states none. */
  readonly checker: StepLimits;
  /** The highest limits that a problem can state, by profile. */
  readonly ceilings: Readonly<Record<ProfileName, StepLimits>>;
}

/** Languages as plain data, which can be sent to another thread. */
export interface PlainLanguages {
  readonly languages: readonly { readonly language: Language; readonly limits: LanguageLimits }[];
  readonly mostSourceBytes: number;
}

/**
 * Reads languages/*.json, languages/profiles.json and the named packs. The base environment of the profiles is merged into
 * every command.
 * @param ceilings what the operator has changed.
 * @throws LanguageFileError at the first invalid file: a service with wrong limits must not start.
 */
export function loadLanguages(
  directory: string,
  packs: readonly string[] = [],
  ceilings: Ceilings = NO_CEILINGS,
): Languages {
  const profiles = readDataFile(join(directory, PROFILES_FILE), profilesSchema);
  const known = new Map<string, Language>();
  const list: Language[] = [];

  const found = [...readBuiltIns(directory).map(toLanguage), ...packs.map((name) => readPack(directory, name))];
  found.sort((a, b) => (basename(a.path) < basename(b.path) ? -1 : 1));
  for (const { path, language: own } of found) {
    const language = withBaseEnvironment(own, profiles);
    if (language.name !== basename(path, ".json")) invalidFile(path, `its name is ${language.name}`);
    for (const name of [language.name, ...language.aliases]) {
      const other = known.get(name);
      if (other) invalidFile(path, `the name ${name} is already used by ${other.name}`);
      known.set(name, language);
    }
    checkLimits(path, language, profiles);
    list.push(language);
  }
  if (list.length === 0) invalidFile(directory, "the directory has no language files");

  const languages = list.map((language) => ({ language, limits: languageLimits(language, profiles, ceilings) }));
  for (const { language, limits } of languages)
    for (const { wallMs, cpuMs } of Object.values(limits.ceilings.judge))
      if (cpuMs > wallMs)
        throw new OperatorError(
          `ASSAY_CEILINGS: with a CPU time of ${cpuMs / 1_000} s, ${language.name} needs a wall time of at least as much, not ${wallMs / 1_000} s`,
        );
  return fromPlain({ languages, mostSourceBytes: ceilings.sourceBytes });
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

/** The limits of judgements, for languages that change none. @throws LanguageFileError */
export function judgementDefaults(directory: string): JudgementLimits {
  return readDataFile(join(directory, PROFILES_FILE), profilesSchema).judgement;
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
  return { ...base, ...valuesOf(overrides) };
}

function valuesOf(overrides: LimitOverrides = {}): Partial<Limits> {
  return Object.fromEntries(Object.entries(overrides).map(([name, override]) => [name, override.value]));
}

function languageLimits(language: Language, profiles: Profiles, given: Ceilings): LanguageLimits {
  const { run, checker, ceilings } = profiles.judgement;
  const inProfile = (profile: ProfileName) => limitsOf(language, profile, profiles);
  const ceilingsIn = (profile: ProfileName) =>
    eachStep(inProfile(profile), (limits, step) => {
      const own = { ...valuesOf(ceilings[step]), ...fromFields(given[step]) };
      return higher(limits, own);
    });
  /** The limits of a profile with these changes, as far as the ceilings permit them. */
  const changedBy = (profile: ProfileName, changes: Required<StepOverrides>) => {
    const most = ceilingsIn(profile);
    return eachStep(inProfile(profile), (limits, step) => {
      const ceiling = most[step] ?? limits;
      return withChanges(limits, atMost(valuesOf(changes[step]), ceiling), ceiling);
    });
  };
  return {
    profiles: forProfiles(inProfile),
    tests: forProfiles((profile) => changedBy(profile, run)),
    checker: changedBy("judge", checker),
    ceilings: forProfiles(ceilingsIn),
  };
}

function forProfiles<T>(make: (profile: ProfileName) => T): Record<ProfileName, T> {
  return Object.fromEntries(PROFILE_NAMES.map((profile) => [profile, make(profile)])) as Record<ProfileName, T>;
}

function eachStep({ compile, execute }: StepLimits, change: (limits: Limits, step: StepName) => Limits): StepLimits {
  return { ...(compile && { compile: change(compile, "compile") }), execute: change(execute, "execute") };
}

type StepName = keyof StepLimits;

function withBaseEnvironment(language: Language, profiles: Profiles): Language {
  const merged = (command: Command): Command => ({ ...command, env: { ...profiles.env, ...command.env } });
  return { ...language, compile: language.compile && merged(language.compile), execute: merged(language.execute) };
}

export function toPlain(languages: Languages): PlainLanguages {
  const { mostSourceBytes } = languages;
  return {
    languages: languages.list().map((language) => ({ language, limits: languages.allLimits(language) })),
    mostSourceBytes,
  };
}

export function fromPlain({ languages, mostSourceBytes }: PlainLanguages): Languages {
  const names = languages.flatMap((one) =>
    [one.language.name, ...one.language.aliases].map((name) => [name, one] as const),
  );
  const byName = new Map(names);
  const list = languages.map(({ language }) => language);
  const allLimits = ({ name }: Language) => {
    const found = byName.get(name);
    if (!found) throw new Error(`there is no language ${name}`);
    return found.limits;
  };
  const stating = (limits: StepLimits, { stated = {}, defaults = {} }: TestLimits, ceilings: StepLimits) =>
    eachStep(limits, (own, step) => {
      const ceiling = ceilings[step] ?? own;
      const usual = atMost(fromFields(defaults[step] ?? {}), ceiling);
      return withChanges(own, { ...usual, ...fromFields(stated[step] ?? {}) }, ceiling);
    });
  return {
    resolve: (nameOrAlias) => byName.get(nameOrAlias)?.language,
    list: () => list,
    limitsFor: (language, profile) => allLimits(language).profiles[profile],
    limitsForTest: (language, profile, limits) => {
      const { tests, ceilings } = allLimits(language);
      return stating(tests[profile], limits, ceilings[profile]);
    },
    limitsForChecker: (language, limits) => {
      const { checker, ceilings } = allLimits(language);
      return stating(checker, limits, ceilings.judge);
    },
    ceilingsFor: (language, profile) => allLimits(language).ceilings[profile],
    allLimits,
    mostSourceBytes,
  };
}
