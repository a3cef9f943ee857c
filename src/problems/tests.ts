import { dirname } from "node:path";
import { z } from "zod";
import type { CheckerSpec } from "../domain/check.ts";
import { type Group, rounded, type TestMeta } from "../domain/judgement.ts";
import { defaultValidator } from "./default-validator.ts";
import { PackageError, type PackageFiles } from "./files.ts";
import { type Read, readYaml } from "./yaml.ts";

/** The tests of a package in the order in which they run. */
export interface PackageTests {
  readonly groups: readonly Group[];
  readonly tests: readonly PackageTest[];
}

export interface PackageTest {
  readonly meta: TestMeta;
  /** Reads the input and the answer. */
  readonly contents: () => readonly [input: Buffer, answer: Buffer];
  /** Arguments of input validators by their name; `""`: of all others. */
  readonly inputValidatorArgs: Readonly<Record<string, readonly string[]>>;
}

export interface TestOptions {
  readonly format: "legacy" | "2025-09";
  readonly scoring: boolean;
  /** The custom output validator; null for the default one. */
  readonly validator: CheckerSpec | null;
  /** Arguments of the output validator for all tests. */
  readonly validatorArgs: readonly string[];
}

const words = z.array(z.string());
const byName = z.union([words, z.record(z.string(), words)]);

/** Keys of a test, and of a group for its tests. Some are for people, or for programs that this service does not run. */
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
  max_score: z.union([z.int().min(0), z.literal("unbounded")]).optional(),
  score_aggregation: z.enum(["pass-fail", "sum", "min"]).optional(),
  require_pass: z.union([z.string(), words]).optional(),
  static_validation_score: z.never({ error: "static validators are not supported" }).optional(),
  static_validator_args: words.optional(),
});

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

/** Reads data/. @throws PackageError for the first fault. */
export function readTests(files: PackageFiles, options: TestOptions): PackageTests {
  const names = [...files.keys()]
    .flatMap((path) => /^data\/((?:sample|secret)\/.+)\.in$/.exec(path)?.[1] ?? [])
    .sort((a, b) => (a < b ? -1 : 1));
  if (!names.some((name) => name.startsWith("secret/"))) throw new PackageError("data/secret", "has no tests");
  const read = options.format === "legacy" ? legacyGroups : currentGroups;
  const { settingsOf, groupsOf } = read(files, options);
  const tests = names.map((name): PackageTest => {
    const settings = settingsOf(name);
    if (!files.has(`data/${name}.ans`))
      throw new PackageError(`data/${name}.in`, "has no answer: the file with .ans is missing");
    for (const other of [`data/${name}.files/`])
      if ([...files.keys()].some((path) => path.startsWith(other)))
        throw new PackageError(other, "files of a test are not supported");
    const { checker, fault } = checkerOf(options, settings.validatorArgs);
    if (fault) throw new PackageError(settings.path, fault, settings.line);
    const { group, args } = settings;
    const meta = { name, group, points: 0, limits: {}, ...(args.length > 0 && { args }), checker };
    const read = (ending: string) => files.get(`data/${name}.${ending}`) as Buffer;
    return { meta, contents: () => [read("in"), read("ans")], inputValidatorArgs: settings.inputValidatorArgs };
  });
  const amounts = new Map<string, number>();
  for (const { meta } of tests) amounts.set(meta.group, (amounts.get(meta.group) ?? 0) + 1);
  const groups = groupsOf([...amounts.keys()]);
  const points = (name: string) => {
    const { maxScore } = groups.find((group) => group.name === name) ?? { maxScore: 0 };
    return rounded(maxScore / (amounts.get(name) ?? 1));
  };
  return {
    groups: groups.map(({ maxScore: _, ...group }) => group),
    tests: tests.map((test) => ({ ...test, meta: { ...test.meta, points: points(test.meta.group) } })),
  };
}

function checkerOf(
  { validator, validatorArgs }: TestOptions,
  own: readonly string[],
): { readonly checker: CheckerSpec; readonly fault?: string } {
  const args = [...validatorArgs, ...own];
  if (validator?.type === "program") return { checker: { ...validator, args } };
  const checker = defaultValidator(args);
  return typeof checker === "string" ? { checker: { type: "tokens" }, fault: checker } : { checker };
}

/** The settings of a test by the files of its group and its own. */
interface Settings {
  readonly group: string;
  readonly args: readonly string[];
  readonly validatorArgs: readonly string[];
  readonly inputValidatorArgs: Readonly<Record<string, readonly string[]>>;
  /** The place of the arguments of the output validator. */
  readonly path: string;
  readonly line?: number;
}

interface ScoredGroup extends Group {
  readonly maxScore: number;
}

interface Groups {
  readonly settingsOf: (test: string) => Settings;
  /** @param used the groups of the tests, in their order. */
  readonly groupsOf: (used: readonly string[]) => ScoredGroup[];
}

function currentGroups(files: PackageFiles, { scoring }: TestOptions): Groups {
  const read = new Map<string, Read<z.output<typeof groupFile>>>();
  for (const path of files.keys()) {
    const [, name] = /^data\/(sample|secret|secret\/[^/]+)\/test_group\.yaml$/.exec(path) ?? [];
    if (name !== undefined) read.set(name, readYaml(files, path, groupFile) as Read<z.output<typeof groupFile>>);
    else if (path.endsWith("/test_group.yaml")) throw new PackageError(path, "a group cannot be in another group");
  }
  const isGrouped = [...read.keys()].some((name) => name.startsWith("secret/"));
  const groupOf = (test: string) => {
    if (!isGrouped || test.startsWith("sample/")) return test.split("/")[0] ?? "";
    const name = test.split("/").slice(0, 2).join("/");
    if (!read.has(name)) throw new PackageError(`data/${test}.in`, "is in no group, but others are");
    return name;
  };
  const settingsOf = (test: string): Settings => {
    const path = `data/${test}.yaml`;
    const group = groupOf(test);
    const levels = [
      { path, file: readYaml(files, path, testFile) },
      { path: `data/${group}/test_group.yaml`, file: read.get(group) },
      { path: "data/secret/test_group.yaml", file: group.startsWith("secret/") ? read.get("secret") : undefined },
    ];
    const first = <K extends keyof typeof oneTest>(key: K) => {
      const level = levels.find(({ file }) => file?.value[key] !== undefined);
      return { level, value: level?.file?.value[key] };
    };
    const output = first("output_validator_args");
    const input = first("input_validator_args").value ?? [];
    const args = first("args").value ?? [];
    return {
      group,
      args,
      validatorArgs: output.value ?? [],
      inputValidatorArgs: Array.isArray(input) ? { "": [...input, ...args] } : withArgs(input, args),
      path: output.level?.path ?? path,
    };
  };
  const groupsOf = (used: readonly string[]) => {
    const secret = read.get("secret");
    if (!scoring) {
      for (const file of read.values())
        for (const key of ["max_score", "score_aggregation", "require_pass"] as const)
          if (file.value[key] !== undefined) throw file.fault([key], `${key}: only for scoring problems`);
      return used.map((name) => ({ name, rule: "sum" as const, depends: [], maxScore: 0 }));
    }
    return used.map((name, at): ScoredGroup => {
      const file = read.get(name);
      const { max_score, score_aggregation, require_pass = [] } = file?.value ?? {};
      if (name === "sample") return { name, rule: "sum", depends: [], maxScore: 0 };
      const maxScore = max_score ?? (name === "secret" ? 100 : undefined);
      const fail = (key: string, text: string) =>
        file?.fault([key], `${key}: ${text}`) ?? new PackageError(`data/${name}/test_group.yaml`, `${key}: ${text}`);
      if (maxScore === undefined || maxScore === "unbounded" || secret?.value.max_score === "unbounded")
        throw fail("max_score", "a number is required: unbounded scores are not supported");
      if (secret?.value.score_aggregation === "min" && name !== "secret")
        throw secret.fault(["score_aggregation"], "score_aggregation: min over groups is not supported");
      const depends = [require_pass].flat();
      for (const other of depends)
        if (!used.slice(0, at).includes(other)) throw fail("require_pass", `${other} is no earlier group`);
      const rule = (score_aggregation ?? (name === "secret" ? "sum" : "pass-fail")) === "sum" ? "sum" : "min";
      return { name, rule, depends, maxScore };
    });
  };
  return { settingsOf, groupsOf };
}

function withArgs(byName: Readonly<Record<string, readonly string[]>>, args: readonly string[]) {
  return { "": args, ...Object.fromEntries(Object.entries(byName).map(([name, own]) => [name, [...own, ...args]])) };
}

/** Directories are groups; settings are inherited. Scores are supported in groups directly below `secret`. */
function legacyGroups(files: PackageFiles, { scoring }: TestOptions): Groups {
  const read = new Map<string, Read<z.output<typeof legacyGroup>>>();
  for (const path of files.keys()) {
    const [, name] =
      /^data(?:\/(.+))?\/testdata\.yaml$/.exec(path) ?? (path === "data/testdata.yaml" ? [path, ""] : []);
    if (name !== undefined) read.set(name, readYaml(files, path, legacyGroup) as Read<z.output<typeof legacyGroup>>);
  }
  /** The nearest group with this setting, from the group itself to the root. */
  const nearest = <K extends keyof z.output<typeof legacyGroup>>(group: string, key: K) => {
    const parts = group.split("/");
    for (let depth = parts.length; depth >= 0; depth--) {
      const name = parts.slice(0, depth).join("/");
      const file = read.get(name);
      if (file?.value[key] !== undefined) return { value: file.value[key], file, path: pathOf(name) };
    }
    return undefined;
  };
  const groupOf = (test: string) => {
    const [top = "", ...below] = test.split("/").slice(0, -1);
    if (below.length > 1) throw new PackageError(`data/${test}.in`, "groups in groups are not supported");
    return [top, ...below].join("/");
  };
  const settingsOf = (test: string): Settings => {
    const group = groupOf(test);
    const output = nearest(group, "output_validator_flags");
    const input = nearest(group, "input_validator_flags")?.value ?? "";
    const named = typeof input === "string" ? { "": split(input) } : { "": [], [input.name]: split(input.flags) };
    const flagsOf = typeof output?.value === "object" ? output.value.flags : (output?.value ?? "");
    return {
      group,
      args: [],
      validatorArgs: split(flagsOf),
      inputValidatorArgs: named,
      path: output?.path ?? pathOf(group),
    };
  };
  const groupsOf = (used: readonly string[]) =>
    used.map((name): ScoredGroup => {
      if (!scoring || name.startsWith("sample")) return { name, rule: "sum", depends: [], maxScore: 0 };
      const grader = nearest(name, "grader_flags");
      const modes = split(grader?.value ?? "");
      for (const mode of modes)
        if (!["min", "sum", "first_error", "worst_error", "ignore_sample"].includes(mode))
          throw grader?.file.fault(["grader_flags"], `grader_flags: ${mode} is not supported`);
      const accept = nearest(name, "accept_score");
      const score = Number(accept?.value ?? 1);
      if (!Number.isFinite(score) || score < 0)
        throw accept?.file.fault(["accept_score"], "accept_score: must be a number of at least 0");
      const rule = modes.findLast((mode) => mode === "min" || mode === "sum") === "min" ? "min" : "sum";
      return { name, rule, depends: [], maxScore: rule === "min" ? score : score * amountOf(files, name) };
    });
  return { settingsOf, groupsOf };
}

function pathOf(group: string): string {
  return group === "" ? "data/testdata.yaml" : `data/${group}/testdata.yaml`;
}

function amountOf(files: PackageFiles, group: string): number {
  return [...files.keys()].filter((path) => path.endsWith(".in") && dirname(path) === `data/${group}`).length;
}

function split(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}
