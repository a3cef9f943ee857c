import { z } from "zod";
import type { TestGroup } from "../domain/judgement.ts";
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

export interface ScoredGroup extends TestGroup {
  readonly maxScore: number;
  /** Makes an error whose place is that of the points of the group. */
  readonly fault: (message: string) => PackageError;
}

const unscored = (name: string): ScoredGroup => ({
  ...{ name, rule: "sum", depends: [], maxScore: 0 },
  fault: (message) => new PackageError(`data/${name}`, message),
});

/** Tests are named by their path below `data`. */
export interface Groups {
  /** The settings of a test, also of a test for validators, which is in no group. */
  readonly settingsOf: (test: string) => TestSettings;
  readonly groupOf: (test: string) => string;
  /** @param used the groups of the tests, in their order. */
  readonly groupsOf: (used: readonly string[]) => ScoredGroup[];
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

const flags = z.union([z.string(), z.strictObject({ name: z.string(), flags: z.string() })]);
const legacyGroup = z.strictObject({
  on_reject: z.enum(["break", "continue"]).optional(),
  grading: z.literal("default", { error: "custom graders are not supported" }).optional(),
  grader_flags: z.string().optional(),
  input_validator_flags: flags.optional(),
  output_validator_flags: flags.optional(),
  accept_score: z.union([z.number().min(0), z.string()]).optional(),
  reject_score: z.union([z.literal(0), z.literal("0")]).optional(),
  range: z.string().optional(),
});

/**
 * Files with settings for all tests of a directory, and the directories that can have one. Below a directory for validators, any
 * directory can.
 */
const SETTINGS_FILE =
  /^data\/(sample|secret|secret\/[^/]+|(?:invalid_input|(?:in)?valid_output)(?:\/.+)?)\/test_group\.yaml$/;

/** The directories that a test is in, from the inner one. */
function directoriesOf(test: string): string[] {
  const parts = test.split("/").slice(0, -1);
  return parts.map((_, depth) => parts.slice(0, parts.length - depth).join("/"));
}

export function currentGroups(files: PackageFiles, scoring: boolean): Groups {
  const read = new Map<string, Read<z.output<typeof groupFile>>>();
  for (const path of files.keys()) {
    const [, name] = SETTINGS_FILE.exec(path) ?? [];
    if (name !== undefined) read.set(name, readYaml(files, path, groupFile) as Read<z.output<typeof groupFile>>);
    else if (path === "data/test_group.yaml")
      throw new PackageError(path, "settings of tests are in the files of sample, secret and the groups of secret");
    else if (/^data\/(.*\/)?test_group\.yaml$/.test(path))
      throw new PackageError(path, "a group cannot be in another group");
  }
  const isGrouped = [...read.keys()].some((name) => name.startsWith("secret/"));
  for (const [name, file] of read)
    for (const key of SCORING_KEYS)
      if (file.value[key] !== undefined && !(scoring && name.startsWith("secret")))
        throw file.fault([key], `${key}: only for groups of secret in scoring problems`);
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
  const groupsOf = (used: readonly string[]) => {
    for (const name of read.keys())
      if (name.startsWith("secret/") && !used.includes(name))
        throw new PackageError(`data/${name}/test_group.yaml`, "the group has no tests");
    if (!scoring) return used.map(unscored);
    return scoredGroups(read, used, isGrouped);
  };
  return { settingsOf, groupOf, groupsOf };
}

function scoredGroups(
  read: ReadonlyMap<string, Read<z.output<typeof groupFile>>>,
  used: readonly string[],
  isGrouped: boolean,
): ScoredGroup[] {
  const fault = (name: string, key: string, text: string) =>
    read.get(name)?.fault([key], `${key}: ${text}`) ??
    new PackageError(`data/${name}/test_group.yaml`, `${key}: ${text}`);
  const settings = (name: string) => {
    const { max_score, score_aggregation, require_pass = [] } = read.get(name)?.value ?? {};
    const maxScore = max_score ?? (name === "secret" ? 100 : "unbounded");
    if (maxScore === "unbounded")
      throw fault(name, "max_score", "a number is required: unbounded scores are not supported");
    const aggregation = score_aggregation ?? (name === "secret" ? "sum" : "pass-fail");
    return { maxScore, aggregation, depends: [require_pass].flat() };
  };
  const secret = settings("secret");
  if (isGrouped && secret.aggregation !== "sum")
    throw fault("secret", "score_aggregation", `${secret.aggregation} over groups is not supported`);
  const groups = used.map((name, at): ScoredGroup => {
    if (name === "sample") return unscored(name);
    const { maxScore, aggregation, depends } = settings(name);
    for (const other of depends) {
      if (!used.slice(0, at).includes(other)) throw fault(name, "require_pass", `${other} is not an earlier group`);
      if (other !== "sample" && settings(other).aggregation !== "pass-fail")
        throw fault(name, "require_pass", `the score_aggregation of ${other} is not pass-fail`);
    }
    const all = isGrouped ? [...new Set([...secret.depends, ...depends])] : depends;
    const atScore = (message: string) => fault(name, "max_score", message);
    const rule = aggregation === "sum" ? "sum" : "min";
    const passFail = aggregation === "pass-fail" && ({ passFail: true } as const);
    return { name, rule, depends: all, ...passFail, maxScore, fault: atScore };
  });
  if (isGrouped)
    for (const other of secret.depends)
      if (other !== "sample" || !used.includes(other))
        throw fault("secret", "require_pass", `${other}: secret can depend only on the tests in sample`);
  const most = groups.reduce((sum, group) => sum + group.maxScore, 0);
  if (most > secret.maxScore)
    throw fault("secret", "max_score", `the groups have ${most} points, more than the ${secret.maxScore} of secret`);
  return groups;
}

function withArgs(byName: Readonly<Record<string, readonly string[]>>, args: readonly string[]) {
  return { "": args, ...Object.fromEntries(Object.entries(byName).map(([name, own]) => [name, [...own, ...args]])) };
}

/**
 * The groups of the format legacy. Each directory is a group, and inherits the settings of the directories above it. Scores are
 * supported in `secret` and in groups directly below it.
 */
export function legacyGroups(
  files: PackageFiles,
  { scoring, writesScores }: { readonly scoring: boolean; readonly writesScores: boolean },
): Groups {
  const read = new Map<string, Read<z.output<typeof legacyGroup>>>();
  /** The number of tests in each directory below `data`. */
  const amounts = new Map<string, number>();
  for (const path of files.keys()) {
    const found = /^data\/(?:(.+)\/)?testdata\.yaml$/.exec(path);
    if (found) read.set(found[1] ?? "", readYaml(files, path, legacyGroup) as Read<z.output<typeof legacyGroup>>);
    const group = /^data\/(.+)\/[^/]+\.in$/.exec(path)?.[1];
    if (group !== undefined) amounts.set(group, (amounts.get(group) ?? 0) + 1);
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
    const [directory = "", ...above] = directoriesOf(test);
    if (above.length > 1) throw new PackageError(`data/${test}.in`, "groups in groups are not supported");
    return directory;
  };
  const settingsOf = (test: string): TestSettings => {
    const output = nearest(directoriesOf(test), "output_validator_flags");
    const input = nearest(directoriesOf(test), "input_validator_flags")?.value ?? "";
    const named = typeof input === "string" ? { "": split(input) } : { "": [], [input.name]: split(input.flags) };
    const flagsOf = typeof output?.value === "object" ? output.value.flags : (output?.value ?? "");
    return {
      args: [],
      validatorArgs: split(flagsOf),
      inputValidatorArgs: named,
      fault: (message) =>
        output?.file.fault(["output_validator_flags"], message) ?? new PackageError(`data/${test}.in`, message),
    };
  };
  /**
   * The most points that a validator which writes scores can give a test. Undefined if no validator writes scores, or if `range`
   * does not give this number.
   */
  const rangeOf = (directories: readonly string[]) => {
    const range = nearest(directories, "range");
    if (!writesScores || !range || range.depth > (nearest(directories, "accept_score")?.depth ?? range.depth))
      return undefined;
    const [, least = "", most = ""] = /^\s*(\S+)\s+(\S+)\s*$/.exec(range.value) ?? [];
    if (/^\+?inf$/.test(most)) return undefined;
    if (Number(least.replace(/^-inf$/, "0")) > 0 || !AMOUNT.test(most))
      throw range.file.fault(["range"], "range: must be two numbers, from at most 0 to at least 0");
    return { most: Number(most), fault: (message: string) => range.file.fault(["range"], `range: ${message}`) };
  };
  const breaks = (directories: readonly string[]) => nearest(directories, "on_reject")?.value !== "continue";
  const modesOf = (directories: readonly string[]) => {
    const grader = nearest(directories, "grader_flags");
    const fault = (directory: string, message: string) =>
      grader?.file.fault(["grader_flags"], `grader_flags: ${message}`) ??
      new PackageError(`data/${directory}`, `grader_flags: ${message}`);
    return { modes: split(grader?.value ?? ""), fault };
  };
  /**
   * Checks that the groups of the sample give no points, because such points are not supported. The results of sample and secret
   * are summed, unless the sample is ignored.
   * @returns the groups of the sample after whose rejection nothing of secret is judged.
   */
  const checkSamples = (samples: readonly string[]): readonly string[] => {
    const overall = modesOf([]);
    if (samples.length === 0 || overall.modes.includes("ignore_sample")) return [];
    const rule = ruleOf(overall.modes);
    if (rule !== "sum") throw overall.fault("", `${rule} over sample and secret is not supported`);
    for (const name of samples) {
      const directories = directoriesOf(`${name}/`);
      const [key, none] = writesScores ? (["range", "0 0"] as const) : (["accept_score", "0"] as const);
      const found = nearest(directories, key);
      const most = key === "range" ? split(`${found?.value ?? ""}`).at(-1) : found?.value;
      if (toScore(most ?? 1) !== 0) {
        const message = `${key}: the sample would give points, which is not supported: it needs ${key}: ${none} of its own, or "on_reject: continue" and "grader_flags: ignore_sample" in data/testdata.yaml`;
        throw found?.file.fault([key], message) ?? new PackageError(`data/${name}`, message);
      }
      const { modes, fault } = modesOf(directories);
      const lenient = modes.find((mode) => mode === "accept_if_any_accepted" || mode === "always_accept");
      if (breaks([]) && lenient !== undefined)
        throw fault(name, `${lenient} of the sample needs on_reject: continue in data/testdata.yaml`);
    }
    return breaks([]) ? samples : [];
  };
  const groupsOf = (used: readonly string[]) => {
    if (!scoring) return used.map(unscored);
    const isSample = (name: string) => name.startsWith("sample");
    if (used.filter((name) => !isSample(name)).length > 1) {
      const { modes, fault } = modesOf(["secret"]);
      const rule = ruleOf(modes);
      if (rule !== "sum") throw fault("secret", `${rule} over groups is not supported: name it in each group`);
    }
    const stopping = checkSamples(used.filter(isSample));
    return used.map((name, at): ScoredGroup => {
      if (isSample(name)) return unscored(name);
      const directories = directoriesOf(`${name}/`);
      const { modes, fault: atModes } = modesOf(directories);
      const other = modes.find((mode) => !MODES.includes(mode));
      if (other !== undefined) throw atModes(name, `${other} is not supported`);
      const stopsOthers = breaks(["secret"]) && at < used.length - 1 && name !== "secret";
      if (modes.includes("accept_if_any_accepted") && stopsOthers)
        throw atModes(name, "accept_if_any_accepted needs on_reject: continue of secret");
      const accept = nearest(directories, "accept_score");
      const score = toScore(accept?.value ?? 1);
      const atScore = (message: string) =>
        accept?.file.fault(["accept_score"], `accept_score: ${message}`) ?? new PackageError(`data/${name}`, message);
      if (!Number.isFinite(score) || score < 0) throw atScore("must be a number of at least 0");
      const rule = ruleOf(modes) === "min" ? "min" : "sum";
      const before = breaks(["secret"]) ? used.slice(0, at).filter((other) => !isSample(other)) : [];
      const range = rule === "min" ? rangeOf(directories) : undefined;
      const maxScore = range?.most ?? (rule === "min" ? score : score * (amounts.get(name) ?? 0));
      const fault = range?.fault ?? atScore;
      const depends = [...stopping, ...before];
      return { name, rule, depends, ...(breaks(directories) && { breaks: true }), maxScore, fault };
    });
  };
  return { settingsOf, groupOf, groupsOf };
}

/** Modes of the default grader, by which it grades the tests of a group. */
const MODES = ["min", "sum", "first_error", "worst_error", "ignore_sample", "accept_if_any_accepted"];
const RULES = ["sum", "min", "max", "avg"];

/** The rule by which the default grader makes one score of several. The last of the modes counts. */
function ruleOf(modes: readonly string[]): string {
  return modes.findLast((mode) => RULES.includes(mode)) ?? "sum";
}

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
