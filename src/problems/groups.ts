import { z } from "zod";
import { MAX_POINTS, type TestGroup } from "../domain/judgement.ts";
import { PackageError, type PackageFiles } from "./files.ts";
import { type Read, readYaml } from "./yaml.ts";

/** The settings of a test, from its own file and from the files of the directories that contain it. */
export interface TestSettings {
  readonly args: readonly string[];
  readonly validatorArgs: readonly string[];
  /** Arguments of the input validators by the name of the validator; the key `""` has those of all other validators. */
  readonly inputValidatorArgs: Readonly<Record<string, readonly string[]>>;
  /** Makes an error whose place is that of the arguments of the output validator. */
  readonly fault: (message: string) => PackageError;
}

/** The points of each test that is directly in a group. */
export interface TestPoints {
  /** The most points that a checker can give. */
  readonly points: number;
  /** As in ProgramChecker. */
  readonly acceptedShare?: number | null;
  readonly failedPoints?: number;
  /** Makes an error whose place is that of the points. */
  readonly fault: (message: string) => PackageError;
}

export interface ScoredGroups {
  /** The groups of the tests, and those that contain them. */
  readonly groups: readonly TestGroup[];
  readonly pointsIn: ReadonlyMap<string, TestPoints>;
  /** The arguments of the custom grader for each group that it grades. Such a group does not end the group that contains it. */
  readonly graderFlags: ReadonlyMap<string, readonly string[]>;
  /** After which failures the submissions of the package are not run on further tests. */
  readonly stop: "first_failure" | "never";
}

const unscored = (name: string): TestGroup => ({ name, rule: "sum", depends: [] });
const noPoints = (name: string): TestPoints => ({
  points: 0,
  fault: (message) => new PackageError(`data/${name}`, message),
});

/** Groups of a problem without points, none of which is in another one. */
function unscoredGroups(names: readonly string[], stop: ScoredGroups["stop"]): ScoredGroups {
  const pointsIn = new Map(names.map((name) => [name, noPoints(name)]));
  return { groups: names.map(unscored), pointsIn, graderFlags: new Map(), stop };
}

/** Tests are named by their path below `data`. */
export interface Groups {
  /** The settings of a test, also of a test for validators, which is in no group. */
  readonly settingsOf: (test: string) => TestSettings;
  readonly groupOf: (test: string) => string;
  /** @param used the groups of the tests, in their order, with the number of tests that are directly in each. */
  readonly groupsOf: (used: ReadonlyMap<string, number>) => ScoredGroups;
}

const words = z.array(z.string());
const byName = z.union([words, z.record(z.string(), words)]);

/**
 * Keys that the file of a test can have, and the file of a directory for all tests in it. Some are for people, or for programs
 * that Assay does not run.
 */
const oneTest = {
  args: words.optional(),
  input_validator_args: byName.optional(),
  output_validator_args: words.optional(),
  input_visualizer_args: words.optional(),
  output_visualizer_args: words.optional(),
  full_feedback: z.boolean().optional(),
};
const testFile = z.strictObject({ ...oneTest, hint: z.string().optional(), description: z.string().optional() });
const groupFile = z.strictObject({
  ...oneTest,
  description: z.string().optional(),
  max_score: z.union([z.int().min(0), z.literal("unbounded")]).optional(),
  score_aggregation: z.enum(["pass-fail", "sum", "min"]).optional(),
  require_pass: z.union([z.string(), words]).optional(),
  static_validation_score: z.never({ error: "static validators are not supported" }).optional(),
  static_validator_args: words.optional(),
});
const SCORING_KEYS = ["max_score", "score_aggregation", "require_pass"] as const;

/** `testdata.yaml` of early drafts of the newer format. `score` is that of each test. */
const draftFile = z.strictObject({
  scoring: z
    .strictObject({
      score: z.int().min(0).optional(),
      max_score: z.int().min(0).optional(),
      aggregation: z.enum(["sum", "min"]),
    })
    .optional(),
  input_validator_flags: z.string().optional(),
  output_validator_flags: z.string().optional(),
});

/** What a file says about a group, in the words of `test_group.yaml`. */
type GroupSettings = z.output<typeof groupFile> & {
  /** The points of each test, in place of `max_score`. */
  readonly test_score?: number | undefined;
};

/** Reads the settings of a directory: those of an early draft if the file has its name. */
function readGroupFile(files: PackageFiles, path: string): Read<GroupSettings> & { readonly isDraft?: true } {
  if (!path.endsWith("/testdata.yaml")) return readYaml(files, path, groupFile) as Read<GroupSettings>;
  const read = readYaml(files, path, draftFile) as Read<z.output<typeof draftFile>>;
  const { scoring, input_validator_flags: input, output_validator_flags: output } = read.value;
  const value: GroupSettings = {
    ...(scoring && { score_aggregation: scoring.aggregation }),
    ...(scoring?.max_score !== undefined && { max_score: scoring.max_score }),
    ...(scoring?.score !== undefined && { test_score: scoring.score }),
    ...(input !== undefined && { input_validator_args: split(input) }),
    ...(output !== undefined && { output_validator_args: split(output) }),
  };
  // The keys of the draft are in other places, so a fault is at the file, or at its key "scoring".
  const isScoring = (key: PropertyKey | undefined) => key === "max_score" || key === "score_aggregation";
  return {
    ...read,
    value,
    isDraft: true,
    fault: ([key], message) => read.fault(isScoring(key) ? ["scoring"] : [], message),
  };
}

const flags = z.union([z.string(), z.strictObject({ name: z.string(), flags: z.string() })]);
const legacyGroup = z.strictObject({
  on_reject: z.enum(["break", "continue"]).optional(),
  grading: z.enum(["default", "custom"]).optional(),
  grader_flags: z.string().optional(),
  input_validator_flags: flags.optional(),
  output_validator_flags: flags.optional(),
  accept_score: z.union([z.number().min(0), z.string()]).optional(),
  reject_score: z.union([z.number().min(0), z.string()]).optional(),
  range: z.string().optional(),
});

/**
 * Files with settings for all tests of a directory, and the directories that can have one. Below a directory for validators, any
 * directory can.
 */
const SETTINGS_FILE =
  /^data\/(sample|secret|secret\/[^/]+|(?:invalid_input|(?:in)?valid_output)(?:\/.+)?)\/(?:test_group|testdata)\.yaml$/;

/** Whether a file is the configuration of a test whose name is like that of a file with settings. */
function isOfTest(files: PackageFiles, path: string): boolean {
  const base = path.slice(0, -".yaml".length);
  return files.has(`${base}.in`) || files.has(`${base}.ans`);
}

/** The directories that a test is in, from the inner one. */
function directoriesOf(test: string): string[] {
  const parts = test.split("/").slice(0, -1);
  return parts.map((_, depth) => parts.slice(0, parts.length - depth).join("/"));
}

export function currentGroups(files: PackageFiles, scoring: boolean): Groups {
  const read = new Map<string, ReturnType<typeof readGroupFile>>();
  for (const path of files.keys()) {
    const isSettings = /^data\/(.*\/)?(test_group|testdata)\.yaml$/.test(path);
    if (!isSettings || isOfTest(files, path) || /\.files\//.test(path)) continue;
    const [, name] = SETTINGS_FILE.exec(path) ?? [];
    if (name !== undefined) read.set(name, readGroupFile(files, path));
    else if (path.split("/").length === 2)
      throw new PackageError(path, "settings of tests are in the files of sample, secret and the groups of secret");
    else throw new PackageError(path, "a group cannot be in another group");
  }
  const isGrouped = [...read.keys()].some((name) => name.startsWith("secret/"));
  for (const [name, file] of read)
    for (const key of SCORING_KEYS)
      if (file.value[key] !== undefined && !(scoring && name.startsWith("secret")))
        throw file.fault([key], `${key}: only for groups of secret in scoring problems`);
  for (const [name, { value, fault, isDraft }] of read) {
    const ofTests = scoring && name.startsWith("secret") && !(name === "secret" && isGrouped);
    if (value.test_score !== undefined && (!ofTests || value.max_score !== undefined))
      throw fault(["max_score"], "score: only for tests of secret in scoring problems, and without max_score");
    // The defaults of the draft are others than those of the format.
    if (isDraft && ofTests && (value.test_score ?? value.max_score) === undefined)
      throw fault(["max_score"], "scoring: score or max_score, and aggregation, are required");
  }
  const groupOf = (test: string) => {
    if (!isGrouped || test.startsWith("sample/")) return test.split("/")[0] ?? "";
    const name = test.split("/").slice(0, 2).join("/");
    if (!read.has(name)) throw new PackageError(`data/${test}.in`, "is in no group, but other tests are in one");
    return name;
  };
  const settingsOf = (test: string): TestSettings => {
    const path = `data/${test}.yaml`;
    const levels = [readYaml(files, path, testFile), ...directoriesOf(test).map((name) => read.get(name))];
    const first = <K extends keyof typeof oneTest>(key: K) => {
      const level = levels.find((file) => file?.value[key] !== undefined);
      return { level, value: level?.value[key] };
    };
    const output = first("output_validator_args");
    const input = first("input_validator_args").value ?? [];
    const args = first("args").value ?? [];
    return {
      args,
      validatorArgs: output.value ?? [],
      inputValidatorArgs: Array.isArray(input) ? { "": [...input, ...args] } : withArgs(input, args),
      fault: (message) => output.level?.fault(["output_validator_args"], message) ?? new PackageError(path, message),
    };
  };
  const groupsOf = (used: ReadonlyMap<string, number>) => {
    for (const name of read.keys())
      if (name.startsWith("secret/") && !used.has(name))
        throw new PackageError(`data/${name}/test_group.yaml`, "the group has no tests");
    if (!scoring) return unscoredGroups([...used.keys()], "never");
    return scoredGroups(read, used, isGrouped);
  };
  return { settingsOf, groupOf, groupsOf };
}

const CURRENT_RULES = { sum: "sum", min: "least", "pass-fail": "all" } as const;

function scoredGroups(
  read: ReadonlyMap<string, Read<GroupSettings>>,
  used: ReadonlyMap<string, number>,
  isGrouped: boolean,
): ScoredGroups {
  const fault = (name: string, key: string, text: string) =>
    read.get(name)?.fault([key], `${key}: ${text}`) ??
    new PackageError(`data/${name}/test_group.yaml`, `${key}: ${text}`);
  const settings = (name: string) => {
    const { max_score, score_aggregation, require_pass = [], test_score } = read.get(name)?.value ?? {};
    const aggregation = score_aggregation ?? (name === "secret" ? "sum" : "pass-fail");
    const ofTests = test_score && (aggregation === "sum" ? test_score * (used.get(name) ?? 0) : test_score);
    const maxScore = max_score ?? ofTests ?? (name === "secret" ? 100 : "unbounded");
    return { maxScore, aggregation, depends: [require_pass].flat() };
  };
  const names = [...used.keys()];
  const secret = settings("secret");
  const scored = (name: string, parent: string | undefined): TestGroup => {
    const { maxScore, aggregation, depends } = settings(name);
    if (maxScore === "unbounded" && (aggregation === "pass-fail" || secret.maxScore !== "unbounded"))
      throw fault(name, "max_score", "a number is required, because secret or pass-fail has one");
    if (aggregation === "pass-fail" && Number(maxScore) > MAX_POINTS)
      throw fault(name, "max_score", `a group with pass-fail has at most ${MAX_POINTS} points`);
    for (const other of depends) {
      if (!names.slice(0, parent === undefined ? undefined : names.indexOf(name)).includes(other))
        throw fault(name, "require_pass", `${other} is not an earlier group`);
      if (other !== "sample" && settings(other).aggregation !== "pass-fail")
        throw fault(name, "require_pass", `the score_aggregation of ${other} is not pass-fail`);
    }
    return {
      ...{ name, rule: CURRENT_RULES[aggregation], depends },
      ...(parent !== undefined && { parent }),
      ...(aggregation === "pass-fail" && { passFail: true as const }),
      ...(aggregation === "pass-fail" && maxScore !== "unbounded" && { points: maxScore }),
    };
  };
  if (isGrouped)
    for (const other of secret.depends)
      if (other !== "sample" || !names.includes(other))
        throw fault("secret", "require_pass", `${other}: secret can depend only on the tests in sample`);
  const groups = names.flatMap((name, at) => {
    if (name === "sample") return [unscored(name)];
    if (!isGrouped) return [scored(name, undefined)];
    const isFirst = at === 0 || names[at - 1] === "sample";
    return [...(isFirst ? [scored("secret", undefined)] : []), scored(name, "secret")];
  });
  const within = isGrouped ? names.filter((name) => name !== "sample") : [];
  for (const name of within)
    if (secret.aggregation === "pass-fail" && settings(name).aggregation !== "pass-fail")
      throw fault(name, "score_aggregation", "must be pass-fail, as that of secret");
  const scores = within.map((name) => Number(settings(name).maxScore));
  const most = secret.aggregation === "sum" ? scores.reduce((sum, score) => sum + score, 0) : Math.min(...scores);
  if (secret.aggregation !== "pass-fail" && within.length > 0 && most > Number(secret.maxScore))
    throw fault("secret", "max_score", `the groups have ${most} points, more than the ${secret.maxScore} of secret`);
  const pointsOf = (name: string, amount: number): TestPoints => {
    const { maxScore, aggregation } = settings(name);
    const atScore = (message: string) => fault(name, "max_score", message);
    if (name === "sample" || aggregation === "pass-fail") return { ...noPoints(name), fault: atScore };
    if (maxScore === "unbounded") return { points: MAX_POINTS, acceptedShare: null, fault: atScore };
    // The points are not rounded: three thirds of 100 points are 100 points.
    return { points: aggregation === "sum" ? maxScore / amount : maxScore, fault: atScore };
  };
  const pointsIn = new Map([...used].map(([name, amount]) => [name, pointsOf(name, amount)]));
  return { groups, pointsIn, graderFlags: new Map(), stop: "never" };
}

function withArgs(byName: Readonly<Record<string, readonly string[]>>, args: readonly string[]) {
  return { "": args, ...Object.fromEntries(Object.entries(byName).map(([name, own]) => [name, [...own, ...args]])) };
}

export interface GroupOptions {
  readonly scoring: boolean;
  /** Whether the package has an output validator of its own. */
  readonly custom: boolean;
  /** Whether the output validator writes a score for each test, which only the format legacy says. */
  readonly writesScores: boolean;
  /** How many output validators the package has. */
  readonly validators: number;
}

/**
 * The groups of the format legacy. Each directory is a group, which can contain tests and other groups, and inherits the settings of the
 * directories above it.
 */
export function legacyGroups(files: PackageFiles, { scoring, custom, writesScores, validators }: GroupOptions): Groups {
  const read = new Map<string, Read<z.output<typeof legacyGroup>>>();
  for (const path of files.keys()) {
    const found = /^data\/(?:(.+)\/)?testdata\.yaml$/.exec(path);
    if (found)
      read.set(
        found[1] ?? "",
        readYaml(files, path, legacyGroup, { repeated: "last" }) as Read<z.output<typeof legacyGroup>>,
      );
  }
  /** The setting of the nearest directory that has it, from the inner directory to `data`; undefined if none has it. */
  const nearest = <K extends keyof z.output<typeof legacyGroup>>(directories: readonly string[], key: K) => {
    for (const [depth, name] of [...directories, ""].entries()) {
      const file = read.get(name);
      if (file?.value[key] !== undefined) return { value: file.value[key], file, depth };
    }
    return undefined;
  };
  const groupOf = (test: string) => {
    const [directory = ""] = directoriesOf(test);
    return directory;
  };
  const settingsOf = (test: string): TestSettings => {
    const output = nearest(directoriesOf(test), "output_validator_flags");
    const input = nearest(directoriesOf(test), "input_validator_flags")?.value ?? "";
    const named = typeof input === "string" ? { "": split(input) } : { "": [], [input.name]: split(input.flags) };
    if (typeof output?.value === "object" && validators > 1)
      throw output.file.fault(["output_validator_flags"], "output_validator_flags: a name is for a single validator");
    const flagsOf = typeof output?.value === "object" ? output.value.flags : (output?.value ?? "");
    return {
      args: [],
      validatorArgs: split(flagsOf),
      inputValidatorArgs: named,
      fault: (message) =>
        output?.file.fault(["output_validator_flags"], message) ?? new PackageError(`data/${test}.in`, message),
    };
  };
  const breaks = (directories: readonly string[]) => nearest(directories, "on_reject")?.value !== "continue";
  const scoreOf = (directories: readonly string[], key: "accept_score" | "reject_score", otherwise: number) => {
    const found = nearest(directories, key);
    const score = toScore(found?.value ?? otherwise);
    if (!Number.isFinite(score)) throw found?.file.fault([key], `${key}: must be a number of at least 0`);
    return { score, found };
  };
  /** The declared range of scores of a group. */
  const rangeOf = (directories: readonly string[]) => {
    const found = nearest(directories, "range");
    const fault = (message: string) => found?.file.fault(["range"], `range: ${message}`) as PackageError;
    const [, least = "", most = ""] = /^\s*(\S+)\s+(\S+)\s*$/.exec(found?.value ?? "-inf +inf") ?? [];
    const lower = /^-inf$/.test(least) ? 0 : Number(least);
    if (!(lower <= 0) || !(UNBOUNDED.test(most) || AMOUNT.test(most)))
      throw fault("must be two numbers, from at most 0 to at least 0");
    return { most: UNBOUNDED.test(most) ? null : Number(most), fault };
  };
  const isCustom = (directories: readonly string[]) => nearest(directories, "grading")?.value === "custom";
  const modesOf = (directories: readonly string[]) => {
    const grader = nearest(directories, "grader_flags");
    const modes = split(grader?.value ?? "");
    const unknown = isCustom(directories) ? undefined : modes.find((mode) => !MODES.includes(mode));
    if (unknown !== undefined) throw grader?.file.fault(["grader_flags"], `grader_flags: ${unknown} is no mode`);
    return modes;
  };
  const pointsOf = (name: string): TestPoints => {
    const directories = [name, ...directoriesOf(name)];
    const { score, found } = scoreOf(directories, "accept_score", 1);
    const { score: failedPoints } = scoreOf(directories, "reject_score", 0);
    const atScore = (message: string) =>
      found?.file.fault(["accept_score"], `accept_score: ${message}`) ?? new PackageError(`data/${name}`, message);
    const failing = failedPoints > 0 ? { failedPoints } : {};
    // A validator that has to write the scores of all outputs, or some of them, which the range bounds.
    const isScored = writesScores || (custom && !found);
    if (!isScored) return { points: score, fault: atScore, ...failing };
    const { most, fault } = rangeOf(directories);
    const points = writesScores ? (most ?? MAX_POINTS) : Math.max(most ?? MAX_POINTS, score);
    return { points, acceptedShare: writesScores ? null : score / points, fault, ...failing };
  };
  /** @param parent the group that contains it; null if none does. */
  const legacyGroupOf = (name: string, parent: string | null, depends: readonly string[]): TestGroup => {
    const directories = name === "" ? [] : [name, ...directoriesOf(name)];
    const modes = modesOf(directories);
    const { most } = rangeOf(directories);
    const verdict = modes.findLast((mode) => VERDICT_MODES.includes(mode));
    const isAny = modes.includes("accept_if_any_accepted");
    return {
      ...{ name: name === "" ? ALL_DATA : name, rule: ruleOf(modes), depends },
      ...(parent !== null && { parent: parent === "" ? ALL_DATA : parent }),
      ...(breaks(directories) && { breaks: true as const }),
      ...(verdict === "always_accept" || isCustom(directories)
        ? { passes: "always" as const }
        : isAny && { passes: "any" as const }),
      ...(verdict !== "first_error" && { failsAs: "worst" as const }),
      ...(most !== null && { most }),
    };
  };
  /** Groups without points. Requests decide which tests are skipped after a failure. */
  const passFailGroups = (names: readonly string[], directories: readonly string[]): ScoredGroups => {
    const all = ["", ...directories].map((name) => (name === "" ? [] : [name, ...directoriesOf(name)]));
    for (const ofGroup of all) {
      const lenient = modesOf(ofGroup).find((mode) => LENIENT.includes(mode));
      const at = nearest(ofGroup, lenient === undefined ? "grading" : "grader_flags");
      if (lenient !== undefined || isCustom(ofGroup))
        throw at?.file.fault([], `${lenient ?? "grading: custom"} is only for scoring problems`);
    }
    if (all.every(breaks)) return unscoredGroups(names, "first_failure");
    const groups = ["", ...directories].map((name) => {
      const { breaks: _, ...group } = legacyGroupOf(name, name === "" ? null : (directoriesOf(name)[0] ?? ""), []);
      return group;
    });
    return { ...unscoredGroups(names, "never"), groups };
  };
  const groupsOf = (used: ReadonlyMap<string, number>): ScoredGroups => {
    const names = [...used.keys()];
    const above = names.flatMap((name) => [...directoriesOf(`${name}/`)].reverse());
    const directories = [...new Set(above)];
    if (!scoring) return passFailGroups(names, directories);
    const isIgnored = !isCustom([]) && modesOf([]).includes("ignore_sample");
    const pointsIn = new Map(names.map((name) => [name, pointsOf(name)]));
    const beforeSecret = breaks([]) && directories.includes("sample") ? ["sample"] : [];
    const toGroup = (name: string): TestGroup => {
      const [parent = ""] = directoriesOf(name);
      if (!isIgnored) return legacyGroupOf(name, parent, []);
      if (parent !== "") return legacyGroupOf(name, parent, []);
      // The points of an ignored sample do not count, but the rest can end with its rejection.
      const isSample = name === "sample";
      const group = legacyGroupOf(name, null, isSample ? [] : beforeSecret);
      return isSample ? { ...group, rule: "all", points: 0, ...(!breaks([]) && { passes: "always" }) } : group;
    };
    const groups = [...(isIgnored ? [] : [legacyGroupOf("", null, [])]), ...directories.map(toGroup)];
    const custom = groups.flatMap(({ name }) => {
      const ofGroup = name === ALL_DATA ? [] : [name, ...directoriesOf(name)];
      return isCustom(ofGroup) ? [[name, split(nearest(ofGroup, "grader_flags")?.value ?? "")] as const] : [];
    });
    return { groups, pointsIn, graderFlags: new Map(custom), stop: "never" };
  };
  return { settingsOf, groupOf, groupsOf };
}

/** Modes by which a group passes although some of its parts do not. */
const LENIENT = ["always_accept", "accept_if_any_accepted", "ignore_sample"];

/** The name of the group with sample and secret. */
const ALL_DATA = "data";

/** Modes of the default grader, by which it grades the tests and groups of a group. */
const VERDICT_MODES = ["first_error", "worst_error", "no_errors", "always_accept"];
const RULES = { sum: "sum", min: "least", max: "greatest", avg: "average" } as const;
const MODES = [...VERDICT_MODES, ...Object.keys(RULES), "ignore_sample", "accept_if_any_accepted"];

/** The rule by which the default grader makes one score of several. The last of the modes counts. */
function ruleOf(modes: readonly string[]): TestGroup["rule"] {
  const last = modes.findLast((mode) => Object.hasOwn(RULES, mode)) ?? "sum";
  return RULES[last as keyof typeof RULES];
}

const UNBOUNDED = /^\+?inf$/;

/**
 * Reads a score, which can be quoted in YAML; NaN for any other text. `Number` alone would also accept other bases, and read
 * white space as zero.
 */
function toScore(value: number | string): number {
  return typeof value === "number" || DECIMAL.test(value) ? Number(value) : Number.NaN;
}

const DECIMAL = /^\s*\+?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;
const AMOUNT = /^\d{1,9}(\.\d{1,9})?$/;

function split(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}
