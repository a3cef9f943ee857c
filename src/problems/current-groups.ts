import { dirname } from "node:path/posix";
import { z } from "zod";
import { PackageError, type PackageFiles } from "./files.ts";
import {
  type ArgsByValidator,
  type Groups,
  type ScoredGroup,
  type Settings,
  type TestOptions,
  words,
} from "./settings.ts";
import { type Read, readYaml } from "./yaml.ts";

const byName = z.union([words, z.record(z.string(), words)]);

/** Keys of a test, and of a group for its tests. Some are for people, or for programs that this service does not run. */
const oneTest = {
  args: words.optional(),
  input_validator_args: byName.optional(),
  output_validator_args: words.optional(),
  input_visualizer_args: words.optional(),
  output_visualizer_args: words.optional(),
  full_feedback: z.boolean().optional(),
  description: z.string().optional(),
};
const testFile = z.strictObject({ ...oneTest, hint: z.string().optional() });
const groupFile = z.strictObject({
  ...oneTest,
  max_score: z.union([z.int().min(0), z.literal("unbounded")]).optional(),
  score_aggregation: z.enum(["pass-fail", "sum", "min"]).optional(),
  require_pass: z.union([z.string(), z.array(z.string())]).optional(),
  static_validation_score: z.never({ error: "static validators are not supported" }).optional(),
  static_validator_args: words.optional(),
});
type GroupFile = Read<z.output<typeof groupFile>>;

const SCORING_KEYS = ["max_score", "score_aggregation", "require_pass"] as const;

/** Directories of tests for validators: a group file there is for the tests in the same directory. */
const VALIDATION = /^(invalid_input|invalid_output|valid_output)(\/|$)/;

/** Groups of the format 2025-09: directories below data/secret with test_group.yaml. */
export function currentGroups(files: PackageFiles, { scoring }: TestOptions): Groups {
  const read = new Map<string, GroupFile>();
  for (const path of files.keys()) {
    const [, name] = /^data\/(.+)\/test_group\.yaml$/.exec(path) ?? [];
    if (name === undefined) continue;
    if (!VALIDATION.test(name) && !/^(sample|secret|secret\/[^/]+)$/.test(name))
      throw new PackageError(path, "a group cannot be in another group");
    const file = readYaml(files, path, groupFile) as GroupFile;
    read.set(name, file);
    const refused = SCORING_KEYS.find((key) => file.value[key] !== undefined);
    if (refused !== undefined && !scoring) throw file.fault([refused], `${refused}: only for scoring problems`);
    if (refused !== undefined && !name.startsWith("secret")) throw file.fault([refused], `${refused}: not for ${name}`);
  }
  const secret = read.get("secret");
  const isGrouped = [...read.keys()].some((name) => name.startsWith("secret/"));
  const directoryOf = (test: string) => {
    if (VALIDATION.test(test)) return dirname(test);
    if (!isGrouped || test.startsWith("sample/")) return test.split("/")[0] ?? "";
    const name = test.split("/").slice(0, 2).join("/");
    if (!read.has(name)) throw new PackageError(`data/${test}.in`, "is in no group, but others are");
    return name;
  };
  /** All or nothing: which of the groups failed makes no difference. */
  const isOne = secret?.value.score_aggregation === "pass-fail";
  const settingsOf = (test: string): Settings => {
    const path = `data/${test}.yaml`;
    const directory = directoryOf(test);
    const levels = [
      { path, file: readYaml(files, path, testFile) },
      { path: `data/${directory}/test_group.yaml`, file: read.get(directory) },
      { path: "data/secret/test_group.yaml", file: directory.startsWith("secret/") ? secret : undefined },
    ];
    const first = <K extends keyof typeof oneTest>(key: K) => {
      const level = levels.find(({ file }) => file?.value[key] !== undefined);
      return { level, value: level?.file?.value[key] };
    };
    const output = first("output_validator_args");
    const input = first("input_validator_args").value ?? [];
    const args = first("args").value ?? [];
    return {
      group: isOne && directory.startsWith("secret/") ? "secret" : directory,
      args,
      validatorArgs: output.value ?? [],
      inputValidatorArgs: Array.isArray(input) ? { "": [...input, ...args] } : withArgs(input, args),
      path: output.level?.path ?? path,
    };
  };
  return { settingsOf, groupsOf: (used) => (scoring ? scored(used, read) : used.map(withoutScore)) };
}

function withoutScore(name: string): ScoredGroup {
  return { name, rule: "sum", depends: [], maxScore: 0 };
}

function scored(used: readonly string[], read: ReadonlyMap<string, GroupFile>): ScoredGroup[] {
  const secret = read.get("secret");
  const faultOf = (name: string) => (key: string, text: string) =>
    read.get(name)?.fault([key], `${key}: ${text}`) ??
    new PackageError(`data/${name}/test_group.yaml`, `${key}: ${text}`);
  const { max_score: most = 100, score_aggregation: whole = "sum" } = secret?.value ?? {};
  const fail = faultOf("secret");
  if (most === "unbounded") throw fail("max_score", "unbounded scores are not supported");
  const isGrouped = !used.includes("secret");
  if (isGrouped && whole === "min") throw fail("score_aggregation", "min over groups is not supported");
  for (const [name, { value }] of whole === "pass-fail" ? read : [])
    if ((value.score_aggregation ?? "pass-fail") !== "pass-fail")
      throw faultOf(name)("score_aggregation", "must be pass-fail as that of data/secret");
  const all = [secret?.value.require_pass ?? []].flat();
  if (all.some((other) => other !== "sample")) throw fail("require_pass", "data/secret can only depend on sample");
  const groups = used.map((name, at): ScoredGroup => {
    if (name === "sample") return withoutScore(name);
    const { max_score, score_aggregation, require_pass = [] } = read.get(name)?.value ?? {};
    const maxScore = name === "secret" ? most : max_score;
    if (maxScore === undefined || maxScore === "unbounded")
      throw faultOf(name)("max_score", "a number is required: unbounded scores are not supported");
    const depends = [...new Set([...all, ...[require_pass].flat()])];
    for (const other of depends) {
      const isRead = other === "sample" || (other.startsWith("secret/") && read.has(other));
      if (!isRead || !(other === "sample" || used.slice(0, at).includes(other)))
        throw faultOf(name)("require_pass", `${other} is no earlier group`);
      if (other !== "sample" && (read.get(other)?.value.score_aggregation ?? "pass-fail") !== "pass-fail")
        throw faultOf(name)("require_pass", `${other} is not of the kind pass-fail`);
    }
    const rule = (score_aggregation ?? (name === "secret" ? "sum" : "pass-fail")) === "sum" ? "sum" : "min";
    return { name, rule, depends: depends.filter((other) => used.includes(other)), maxScore };
  });
  const sum = groups.reduce((total, { maxScore }) => total + maxScore, 0);
  if (isGrouped && sum > most) throw fail("max_score", `the groups have ${sum} points together, data/secret ${most}`);
  return groups;
}

function withArgs(byName: ArgsByValidator, args: readonly string[]) {
  return { "": args, ...Object.fromEntries(Object.entries(byName).map(([name, own]) => [name, [...own, ...args]])) };
}
