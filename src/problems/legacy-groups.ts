import { dirname } from "node:path/posix";
import { z } from "zod";
import { PackageError, type PackageFiles } from "./files.ts";
import type { Groups, ScoredGroup, Settings, TestOptions } from "./settings.ts";
import { type Read, readYaml } from "./yaml.ts";

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

/** Directories are groups; settings are inherited. Scores are supported in groups directly below `secret`. */
export function legacyGroups(files: PackageFiles, { scoring }: TestOptions): Groups {
  const read = new Map<string, Read<z.output<typeof legacyGroup>>>();
  for (const path of files.keys()) {
    const found = /^data(?:\/(.+))?\/testdata\.yaml$/.exec(path);
    if (found) read.set(found[1] ?? "", readYaml(files, path, legacyGroup) as Read<z.output<typeof legacyGroup>>);
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
  /** The aggregation of a group, which it can inherit. */
  const ruleOf = (group: string) => {
    const grader = nearest(group, "grader_flags");
    const modes = split(grader?.value ?? "");
    for (const mode of modes)
      if (!["min", "sum", "first_error", "worst_error", "ignore_sample"].includes(mode))
        throw grader?.file.fault(["grader_flags"], `grader_flags: ${mode} is not supported`);
    return {
      rule: modes.findLast((mode) => mode === "min" || mode === "sum") === "min" ? "min" : "sum",
      grader,
    } as const;
  };
  const groupsOf = (used: readonly string[]) => {
    const { rule: whole, grader } = ruleOf("secret");
    if (scoring && whole === "min" && used.some((name) => name.startsWith("secret/")))
      throw grader?.file.fault(["grader_flags"], "grader_flags: min over groups is not supported");
    return used.map((name): ScoredGroup => {
      if (!scoring || name.startsWith("sample")) return { name, rule: "sum", depends: [], maxScore: 0 };
      const { rule } = ruleOf(name);
      const accept = nearest(name, "accept_score");
      const score = Number(accept?.value ?? 1);
      if (!Number.isFinite(score) || score < 0)
        throw accept?.file.fault(["accept_score"], "accept_score: must be a number of at least 0");
      return { name, rule, depends: [], maxScore: rule === "min" ? score : score * amountOf(files, name) };
    });
  };
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
