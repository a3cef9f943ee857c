import { extname } from "node:path";
import { z } from "zod";
import { ANSWERS_LANGUAGE } from "../domain/answers.ts";
import { type Harness, MAX_HARNESS_BYTES, MAX_HARNESS_FILES } from "../domain/harness.ts";
import type { Definition, ProblemLimits } from "../domain/judgement.ts";
import { MAX_FILES_BYTES, toFilePath } from "../domain/program-options.ts";
import type { Program } from "../domain/submission.ts";
import { type Languages, listed } from "../languages/load.ts";
import type { LocalGrader } from "../worker/judge-locally.ts";
import { CMS_FILE, readCms } from "./cms.ts";
import { constantsField, constantsOf, withConstants } from "./constants.ts";
import { DMOJ_FILE, readDmoj } from "./dmoj.ts";
import type { SubmissionExpectations } from "./expectations.ts";
import { type Faults, refusing } from "./faults.ts";
import { filesBelow, PackageError, type PackageFiles, sizeOf } from "./files.ts";
import { ceilingOf, limits2025, limitsLegacy, limitsOfPackage, timeLimitBeside } from "./limits.ts";
import type { Makings } from "./makers.ts";
import { readValidator, validatorsIn } from "./output-validator.ts";
import { POLYGON_FILE, readPolygon } from "./polygon.ts";
import { languageName, type Source, sourcesIn, submissionsOf, toProgram } from "./source.ts";
import { type InputTest, type OutputTest, type PackageTest, readTests } from "./tests.ts";
import { checkUnread, VALIDATORS } from "./unread.ts";
import { type Read, readYaml } from "./yaml.ts";

/** The rules for a time limit that follows from the package's own submissions. */
export interface Timing {
  /** The time limit in seconds; null if the package leaves it to its submissions. */
  readonly limitSecs: number | null;
  /** The time limit is at least the CPU time of the slowest accepted submission times this factor. */
  readonly acToLimit: number;
  /** A submission that is meant to be too slow takes at least the time limit times this factor. */
  readonly limitToTle: number;
  /** A time limit that follows from the submissions is a multiple of this many seconds. */
  readonly resolutionSecs: number;
}

/** A problem package, read and checked. */
export interface ProblemPackage {
  readonly format: "legacy" | "2025-09" | "dmoj" | "polygon" | "cms";
  /** The name of the problem in the package, for archives that are not one directory with a name. */
  readonly name?: string;
  readonly title: string;
  readonly scoring: boolean;
  readonly timing: Timing;
  /** Its tests have the limits of the package, except for the time limit. */
  readonly definition: Definition;
  /** The output validator; null for the default one. */
  readonly checker: Program | null;
  /** What the problem adds to submissions. */
  readonly harness?: Harness | null;
  readonly tests: readonly PackageTest[];
  /** The runs of programs that make contents of the tests; absent if all contents are files. */
  readonly makings?: Makings;
  /** Inputs that the input validators must accept or reject. */
  readonly inputs: readonly InputTest[];
  /** Outputs that the output validator must accept or reject. */
  readonly outputs: readonly OutputTest[];
  readonly inputValidators: readonly Source[];
  /** The exit code with which an input validator accepts; 42 if it is absent. */
  readonly validatorAccepts?: number;
  readonly submissions: readonly Source[];
  /** The expectations for each submission by its path; absent if its directory and submissions.yaml have them. */
  readonly expectations?: ReadonlyMap<string, SubmissionExpectations>;
  /** Parts that no command tries, and keys without effect, and why. */
  readonly untried?: readonly string[];
  /** The grader of the groups with the field `grader`; null if there are none. */
  readonly grader: (LocalGrader & { readonly path: string }) | null;
  /** After which failures a submission of the package is not run on further tests. */
  readonly stop: "first_failure" | "never";
}

const title = z.union([z.string(), z.record(z.string(), z.string())]);

const ofLegacy = z
  .never({
    error: "is only in the format legacy: output_validator/ has the validator, output_validator_args its arguments",
  })
  .optional();
const problem2025 = z.looseObject({
  problem_format_version: z.string(),
  validation: ofLegacy,
  validator_flags: ofLegacy,
  type: z.union([z.string(), z.array(z.string()).min(1)]).optional(),
  name: title,
  limits: limits2025.optional(),
  languages: z.union([z.literal("all"), z.array(z.string()).min(1)]).optional(),
  constants: constantsField.optional(),
});
const inTestdata = z.never({ error: "is supported only in testdata.yaml" }).optional();
/** Other keys, which older versions of the format have, are faults, because they would change scores. */
const grading = z.strictObject({
  objective: z.literal("max", { error: "only max is supported" }).optional(),
  /** Accepted without effect, as it is for people; YAML of version 1.1 has several words for true. */
  show_test_data_groups: z.unknown().optional(),
  accept_score: inTestdata,
  reject_score: z.union([z.literal(0), z.literal("0")], { error: "only 0 is supported" }).optional(),
  range: inTestdata,
  on_reject: inTestdata,
  custom_scoring: z.literal(false, { error: "is not supported" }).optional(),
});
const problemLegacy = z.looseObject({
  problem_format_version: z.string().optional(),
  type: z.enum(["pass-fail", "scoring"]).optional(),
  name: title.optional(),
  validation: z.string().optional(),
  validator_flags: z.string().optional(),
  grading: grading.nullish(),
  limits: limitsLegacy.optional(),
});
const version = z.looseObject({ problem_format_version: z.string().optional() });

/**
 * The versions of the format that packages name, and the version by whose rules each is read. The drafts of 2025-09 had several names, and
 * their groups of tests are described in files of either version.
 */
const VERSIONS: Readonly<Record<string, { readonly format: "legacy" | "2025-09"; readonly isDraft?: true }>> = {
  legacy: { format: "legacy" },
  "legacy-icpc": { format: "legacy" },
  "2023-07": { format: "2025-09", isDraft: true },
  "2023-07-draft": { format: "2025-09", isDraft: true },
  draft: { format: "2025-09", isDraft: true },
  "2025-09-draft": { format: "2025-09", isDraft: true },
  "2025-09": { format: "2025-09" },
};

const YAML = "problem.yaml";

/** What problem.yaml decides. */
interface Head {
  readonly title: string;
  readonly scoring: boolean;
  readonly writesScores: boolean;
  readonly custom: boolean;
  readonly validatorArgs: readonly string[];
  readonly interactive: boolean;
  readonly multiPass: boolean;
  /** Whether submissions consist of answers. */
  readonly answers: boolean;
  readonly timing: Timing;
  readonly limits: z.output<typeof limits2025> | z.output<typeof limitsLegacy>;
  readonly languages: readonly string[] | null;
  readonly constants: ReadonlyMap<string, string>;
  /** Keys without effect, for people. */
  readonly ignored: readonly string[];
  /** The key of problem.yaml that says whether the problem is interactive or has several passes. */
  readonly typeKey: string;
  readonly read: Read<unknown>;
}

/**
 * Reads a package in the format `legacy` or `2025-09`, or of DMOJ, Polygon or CMS. Parts that would change a verdict and are not supported are faults.
 * @param faults what happens with the faults of programs. @throws PackageError for the first fault that is not allowed.
 */
export function readProblem(given: PackageFiles, languages: Languages, faults: Faults = refusing()): ProblemPackage {
  if (given.has(DMOJ_FILE) && !given.has(YAML)) return readDmoj(given, languages, faults);
  if (given.has(POLYGON_FILE) && !given.has(YAML)) return readPolygon(given, languages, faults);
  if (given.has(CMS_FILE) && !given.has(YAML)) return readCms(given, languages, faults);
  const named = readYaml(given, YAML, version);
  if (!named) throw new PackageError(YAML, "is missing");
  const { problem_format_version: name = "legacy" } = named.value;
  const known = Object.hasOwn(VERSIONS, name) ? VERSIONS[name] : undefined;
  if (!known)
    throw named.fault(
      ["problem_format_version"],
      `problem_format_version: ${name} is none of ${Object.keys(VERSIONS).join(", ")}`,
    );
  const { format } = known;
  const groupFormat = known.isDraft && hasLegacyGroups(given) ? "legacy" : format;
  const validators = VALIDATORS[known.isDraft ? "draft" : format];
  const head = format === "legacy" ? readLegacy(given) : read2025(given, validators);
  const files = withConstants(given, head.constants);
  for (const directory of ["static_validator", ...(groupFormat === "legacy" ? [] : ["graders"])])
    if ([...files.keys()].some((path) => path.startsWith(`${directory}/`)))
      throw new PackageError(directory, "is not supported");
  checkUnread(files, { format, groupFormat, validators, custom: head.custom });
  const { interactive, multiPass, read, limits } = head;
  const fault = (message: string) => read.fault([head.typeKey], `${head.typeKey}: ${message}`);
  if ((interactive || multiPass) && !head.custom)
    throw fault("an interactive or multi-pass problem needs an output validator of its own");
  if (limits.validation_passes !== undefined && !multiPass)
    throw read.fault(["limits", "validation_passes"], "limits.validation_passes: only for multi-pass problems");
  const kind = {
    ...(interactive && { interactive: true as const }),
    ...(multiPass && { passes: limits.validation_passes ?? DEFAULT_PASSES }),
  };
  const programs = head.custom ? validatorsIn(files, validators) : [];
  const rules = { directory: validators[0], isOne: format !== "legacy" };
  const validator = head.custom ? faults.attempt(() => readValidator(programs, rules, languages, kind), null) : null;
  const { run, problem: problemLimits, outputBytes } = limitsOfPackage(limits, read, languages);
  const { tests, groups, inputs, outputs, graderFlags, stop } = readTests(files, {
    ...head,
    outputBytes: head.answers ? Math.min(outputBytes, MAX_FILES_BYTES) : outputBytes,
    groupFormat,
    hasFiles: format !== "legacy",
    validator: validator?.spec ?? null,
    validators: programs.length,
    hasOutputs: !interactive && !multiPass,
    fault: (message) => read.fault(["validator_flags"], message),
  });
  const grader = graderFlags.size > 0 ? faults.attempt(() => readGrader(files, languages), null) : null;
  const graded = groups.map((group) => {
    const own = graderFlags.get(group.name);
    return own ? { ...group, grader: own } : group;
  });
  return {
    format,
    title: head.title,
    scoring: head.scoring,
    timing: head.answers
      ? { ...head.timing, limitSecs: head.timing.limitSecs ?? ceilingOf("time_limit", languages) }
      : head.timing,
    definition: {
      checker: validator?.spec ?? { type: "tokens", caseSensitive: false },
      groups: graded,
      ...(grader && { grader: { language: grader.language.name } }),
      tests: tests.map(({ meta }) => ({ ...meta, limits: run })),
      ...(!head.scoring && { passFail: true as const }),
      limits: head.answers && limits.code === undefined ? withoutCodeLimit(problemLimits) : problemLimits,
      ...(head.answers && { languages: [ANSWERS_LANGUAGE] }),
      ...(!head.answers && head.languages && { languages: head.languages.map(languageName) }),
    },
    checker: validator?.program ?? null,
    harness: faults.attempt(() => readIncluded(files, languages), null),
    tests,
    inputs,
    outputs,
    inputValidators: [...sourcesIn(files, "input_validators"), ...sourcesIn(files, "input_format_validators")],
    submissions: submissionsOf(files),
    grader,
    stop,
    ...(head.ignored.length > 0 && { untried: head.ignored }),
  };
}

/** The default of the format is for programs. Answers are bounded by the files of a submission. */
function withoutCodeLimit({ codeBytes: _, ...limits }: ProblemLimits): ProblemLimits {
  return limits;
}

function readGrader(files: PackageFiles, languages: Languages): ProblemPackage["grader"] {
  const [source, other] = sourcesIn(files, "graders");
  if (!source) throw new PackageError("graders", "has no grader, but data has grading: custom");
  if (other) throw new PackageError(other.path, "a second grader is not supported");
  const found = toProgram(source, languages);
  if (!found) throw new PackageError(source.path, "is in no installed language");
  return { path: source.path, ...found };
}

/** The files that every submission gets: those of the directory of its language, or else those of include/default. */
function readIncluded(files: PackageFiles, languages: Languages): Harness | null {
  const byCode = new Map<string, PackageFiles>();
  for (const path of filesBelow(files, "include").keys()) {
    const [code = "", name] = [path.split("/")[0], path.split("/").slice(1).join("/")];
    if (name === "") throw new PackageError(`include/${path}`, "is in no directory of a language");
    if (toFilePath(name) !== name) throw new PackageError(`include/${path}`, "is not a valid name of a file");
    if (!byCode.has(code)) byCode.set(code, filesBelow(files, `include/${code}`));
  }
  if (byCode.size === 0) return null;
  // Languages whose sources have the same ending, such as several standards of C++, get the same files.
  const endings = new Map<string, string>();
  for (const { source } of listed(languages)) endings.set(extname(source), "default");
  for (const code of byCode.keys()) {
    const language = languages.resolve(languageName(code));
    if (language) endings.set(extname(language.source), code);
  }
  const parts = [...endings].flatMap(([ending, code]) => {
    const found = byCode.get(code);
    return found ? [[ending, { files: () => [...found].map(([name, data]) => ({ name, data })), found }] as const] : [];
  });
  for (const [, { found }] of parts) {
    const bytes = [...found.keys()].reduce((sum, name) => sum + (sizeOf(found, name) ?? 0), 0);
    if (found.size > MAX_HARNESS_FILES || bytes > MAX_HARNESS_BYTES)
      throw new PackageError(
        "include",
        `adds more than ${MAX_HARNESS_FILES} files or ${MAX_HARNESS_BYTES} bytes to submissions`,
      );
  }
  return Object.fromEntries(parts.map(([ending, part]) => [ending, { files: part.files(), prefix: "", env: {} }]));
}

function hasLegacyGroups(files: PackageFiles): boolean {
  return [...files.keys()].some((path) => /^data\/(?:(?:sample|secret)\/(?:.+\/)?)?testdata\.yaml$/.test(path));
}

const DEFAULT_PASSES = 2;
const TYPES = ["pass-fail", "scoring", "multi-pass", "interactive", "submit-answer"];
/** Pairs of types that exclude each other. */
const INCOMPATIBLE = [
  ["pass-fail", "scoring"],
  ["submit-answer", "multi-pass"],
  ["submit-answer", "interactive"],
];

/** @param validators the directories that an output validator can be in. */
function read2025(files: PackageFiles, validators: readonly string[]): Head {
  const read = readYaml(files, YAML, problem2025) as Read<z.output<typeof problem2025>>;
  const { type = "pass-fail", limits = {}, name, languages: allowed, constants } = read.value;
  const beside = timeLimitBeside(files);
  // The format has a list for several types; its own examples have them as words of one text.
  const types = typeof type === "string" ? type.trim().split(/\s+/) : type;
  for (const [at, one] of types.entries()) {
    const fail = (message: string) => read.fault(Array.isArray(type) ? ["type", at] : ["type"], `type: ${message}`);
    const before = types.slice(0, at);
    if (!TYPES.includes(one)) throw fail(`${one} is no type of problems`);
    if (before.includes(one)) throw fail(`${one} is given twice`);
    const other = before.find((two) => INCOMPATIBLE.some((pair) => pair.includes(one) && pair.includes(two)));
    if (other !== undefined) throw fail(`${one} and ${other} exclude each other`);
  }
  const { time_multipliers: { ac_to_time_limit = 2, time_limit_to_tle = 1.5 } = {} } = limits;
  return {
    title: titleOf(name),
    scoring: types.includes("scoring"),
    writesScores: false, // only the groups of the format legacy depend on it
    interactive: types.includes("interactive"),
    multiPass: types.includes("multi-pass"),
    answers: types.includes("submit-answer"),
    typeKey: "type",
    custom: [...files.keys()].some((path) => validators.includes(path.split("/")[0] ?? "")),
    validatorArgs: [],
    timing: {
      limitSecs: limits.time_limit ?? beside,
      acToLimit: ac_to_time_limit,
      limitToTle: time_limit_to_tle,
      resolutionSecs: limits.time_resolution ?? 1,
    },
    limits,
    languages: allowed === undefined || allowed === "all" ? null : allowed,
    constants: constantsOf(constants, read),
    ignored: [],
    read,
  };
}

/**
 * Words that can follow `custom`. The specification of the format has no multi-pass problems; systems that have them write the
 * word in two ways.
 */
const OPTIONS = ["score", "interactive", "multi-pass", "multipass"];

/** Kattis ignores this key of the newer format, which a package of the format legacy has by mistake. */
const UNKNOWN_MULTIPLIERS = `${YAML}: limits.time_multipliers is no key of the format legacy, and has no effect`;

function readLegacy(files: PackageFiles): Head {
  const read = readYaml(files, YAML, problemLegacy) as Read<z.output<typeof problemLegacy>>;
  const { type = "pass-fail", limits = {}, name = "", validation = "default", validator_flags = "" } = read.value;
  const beside = timeLimitBeside(files);
  const scoring = type === "scoring" || read.value.grading !== undefined;
  const fail = (message: string) => read.fault(["validation"], `validation: ${message}`);
  const [kind, ...options] = validation.split(/\s+/);
  if (kind !== "default" && kind !== "custom") throw fail("must begin with default or custom");
  for (const option of options)
    if (kind === "default" || !OPTIONS.includes(option)) throw fail(`${option} after ${kind} is not supported`);
  if (options.includes("score") && !scoring) throw fail("score is only for scoring problems");
  return {
    title: titleOf(name),
    scoring,
    writesScores: options.includes("score"),
    interactive: options.includes("interactive"),
    multiPass: options.includes("multi-pass") || options.includes("multipass"),
    answers: false,
    typeKey: "validation",
    custom: kind === "custom",
    validatorArgs: validator_flags.split(/\s+/).filter((word) => word !== ""),
    timing: {
      limitSecs: limits.time_limit ?? beside,
      // The multiplier only serves to find a limit. A limit that is stated holds, however close to it accepted submissions are.
      acToLimit: (limits.time_limit ?? beside) === null ? (limits.time_multiplier ?? 5) : 1,
      limitToTle: limits.time_safety_margin ?? 2,
      resolutionSecs: 1,
    },
    limits,
    languages: null,
    constants: new Map(),
    ignored: limits.time_multipliers === undefined ? [] : [UNKNOWN_MULTIPLIERS],
    read,
  };
}

function titleOf(name: string | Readonly<Record<string, string>>): string {
  return typeof name === "string" ? name : (name.en ?? Object.values(name)[0] ?? "");
}
