import { z } from "zod";
import type { Definition } from "../domain/judgement.ts";
import { type Limits, PROFILE_NAMES } from "../domain/limits.ts";
import type { Program } from "../domain/submission.ts";
import type { Languages } from "../languages/load.ts";
import { filesBelow, PackageError, type PackageFiles } from "./files.ts";
import { type Source, sourcesIn, toProgram } from "./source.ts";
import { type PackageTest, readTests } from "./tests.ts";
import { type Read, readYaml } from "./yaml.ts";

/** The rules for a time limit that follows from the package's own submissions. */
export interface Timing {
  /** In seconds; null if the package leaves it to its submissions. */
  readonly limitSecs: number | null;
  /** The limit is at least the slowest accepted submission times this. */
  readonly acToLimit: number;
  /** A submission that is too slow takes at least the limit times this. */
  readonly limitToTle: number;
  /** The limit is a multiple of this many seconds. */
  readonly resolutionSecs: number;
}

/** A problem package, read and checked. */
export interface ProblemPackage {
  readonly format: "legacy" | "2025-09";
  readonly title: string;
  readonly scoring: boolean;
  readonly timing: Timing;
  /** Without a time limit. */
  readonly definition: Definition;
  /** The output validator; null for the default one. */
  readonly checker: Program | null;
  readonly tests: readonly PackageTest[];
  readonly inputValidators: readonly Source[];
  readonly submissions: readonly Source[];
}

const seconds = z.number().positive();
const title = z.union([z.string(), z.record(z.string(), z.string())]);

/** Limits in MiB and seconds that both formats have. */
const resources = {
  memory: z.int().positive().optional(),
  output: z.int().positive().optional(),
  code: z.int().positive().optional(),
  compilation_time: seconds.optional(),
  compilation_memory: z.int().positive().optional(),
  validation_time: seconds.optional(),
  validation_memory: z.int().positive().optional(),
  validation_output: z.int().positive().optional(),
};

const limits2025 = z.strictObject({
  time_multipliers: z
    .strictObject({ ac_to_time_limit: z.number().min(1).optional(), time_limit_to_tle: z.number().min(1).optional() })
    .optional(),
  time_limit: seconds.optional(),
  time_resolution: seconds.optional(),
  ...resources,
});
const problem2025 = z.looseObject({
  problem_format_version: z.literal("2025-09"),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  name: title,
  limits: limits2025.optional(),
});
const problemLegacy = z.looseObject({
  problem_format_version: z.union([z.literal("legacy"), z.literal("legacy-icpc")]).optional(),
  type: z.enum(["pass-fail", "scoring"]).optional(),
  name: title.optional(),
  validation: z.string().optional(),
  validator_flags: z.string().optional(),
  limits: z
    .strictObject({
      time_multiplier: z.number().positive().optional(),
      time_safety_margin: z.number().positive().optional(),
      time_limit: seconds.optional(),
      ...resources,
    })
    .optional(),
});
const version = z.looseObject({ problem_format_version: z.string().optional() });

const YAML = "problem.yaml";

/** What problem.yaml decides. */
interface Head {
  readonly title: string;
  readonly scoring: boolean;
  readonly custom: boolean;
  readonly validatorArgs: readonly string[];
  readonly timing: Timing;
  readonly memoryMib: number | undefined;
  readonly read: Read<unknown>;
}

/**
 * Reads a package in the format `legacy` or `2025-09`. Parts that would change a verdict and are not supported are faults.
 * @throws PackageError for the first fault.
 */
export function readProblem(files: PackageFiles, languages: Languages): ProblemPackage {
  const named = readYaml(files, YAML, version);
  if (!named) throw new PackageError(YAML, "is missing");
  const { problem_format_version: given = "legacy" } = named.value;
  const format = given === "2025-09" ? given : "legacy";
  if (format === "legacy" && !["legacy", "legacy-icpc"].includes(given))
    throw named.fault(["problem_format_version"], `problem_format_version: ${given} is neither legacy nor 2025-09`);
  const head = format === "legacy" ? readLegacy(files) : read2025(files);
  for (const directory of ["include", "graders", "static_validator"])
    if ([...files.keys()].some((path) => path.startsWith(`${directory}/`)))
      throw new PackageError(directory, "is not supported");
  const validator = head.custom ? readValidator(files, format, languages) : null;
  const memory = memoryLimit(head, languages);
  const { tests, groups } = readTests(files, { ...head, format, validator: validator?.spec ?? null });
  const metas = tests.map(({ meta }) => (memory === null ? meta : { ...meta, limits: { memory_bytes: memory } }));
  return {
    format,
    title: head.title,
    scoring: head.scoring,
    timing: head.timing,
    definition: { checker: validator?.spec ?? { type: "tokens", caseSensitive: false }, groups, tests: metas },
    checker: validator?.program ?? null,
    tests,
    inputValidators: [...sourcesIn(files, "input_validators"), ...sourcesIn(files, "input_format_validators")],
    submissions: submissionsOf(files),
  };
}

function read2025(files: PackageFiles): Head {
  const read = readYaml(files, YAML, problem2025) as Read<z.output<typeof problem2025>>;
  const { type = "pass-fail", limits = {}, name } = read.value;
  const types = [type].flat();
  const unknown = types.find((one) => one !== "pass-fail" && one !== "scoring");
  if (unknown !== undefined) throw read.fault(["type"], `type: ${unknown} problems are not supported`);
  const { time_multipliers: { ac_to_time_limit = 2, time_limit_to_tle = 1.5 } = {} } = limits;
  return {
    title: titleOf(name),
    scoring: types.includes("scoring"),
    custom: [...files.keys()].some((path) => path.startsWith("output_validator/")),
    validatorArgs: [],
    timing: {
      limitSecs: limits.time_limit ?? null,
      acToLimit: ac_to_time_limit,
      limitToTle: time_limit_to_tle,
      resolutionSecs: limits.time_resolution ?? 1,
    },
    memoryMib: limits.memory,
    read,
  };
}

function readLegacy(files: PackageFiles): Head {
  const read = readYaml(files, YAML, problemLegacy) as Read<z.output<typeof problemLegacy>>;
  const { type = "pass-fail", limits = {}, name = "", validation = "default", validator_flags = "" } = read.value;
  const [kind, ...options] = validation.split(/\s+/);
  if (kind !== "default" && kind !== "custom")
    throw read.fault(["validation"], "validation: neither default nor custom");
  const unknown = options.find((one) => one !== "score");
  if (unknown !== undefined) throw read.fault(["validation"], `validation: ${unknown} problems are not supported`);
  return {
    title: titleOf(name),
    scoring: type === "scoring" || read.value.grading !== undefined,
    custom: kind === "custom",
    validatorArgs: validator_flags.split(/\s+/).filter((word) => word !== ""),
    timing: {
      limitSecs: limits.time_limit ?? null,
      acToLimit: limits.time_multiplier ?? 5,
      limitToTle: limits.time_safety_margin ?? 2,
      resolutionSecs: 1,
    },
    memoryMib: limits.memory,
    read,
  };
}

function titleOf(name: string | Readonly<Record<string, string>>): string {
  return typeof name === "string" ? name : (name.en ?? Object.values(name)[0] ?? "");
}

function readValidator(files: PackageFiles, format: ProblemPackage["format"], languages: Languages) {
  const directory = format === "legacy" ? "output_validators" : "output_validator";
  const sources = sourcesIn(files, directory);
  // In 2025-09, the directory is the program.
  const all = [...files.keys()].some((path) => /^output_validator\/[^/]+$/.test(path))
    ? [{ path: directory, files: filesBelow(files, directory) }]
    : sources;
  const [source, other] = all;
  if (!source) throw new PackageError(directory, "has no validator");
  if (other) throw new PackageError(other.path, "a second output validator is not supported");
  const found = toProgram(source, languages);
  if (!found) throw new PackageError(source.path, "is in no installed language");
  const spec = { type: "program", interface: "kattis", language: found.language.name, args: [] } as const;
  return { spec, program: found.program };
}

/** A limit that no profile has is a fault: it could not be honoured. @returns null for the profile's own limit. */
function memoryLimit({ memoryMib, read }: Head, languages: Languages): number | null {
  if (memoryMib === undefined) return null;
  const bytes = memoryMib * 1_048_576;
  const most = (limits: Limits) => limits.memoryBytes;
  const highest = Math.max(
    ...languages.list().flatMap((one) => PROFILE_NAMES.map((name) => most(languages.limitsFor(one, name).execute))),
  );
  if (bytes > highest)
    throw read.fault(["limits", "memory"], `limits.memory: the profiles have at most ${highest / 1_048_576} MiB`);
  return bytes;
}

function submissionsOf(files: PackageFiles): Source[] {
  const directories = new Set([...files.keys()].flatMap((path) => /^(submissions\/[^/]+)\//.exec(path)?.[1] ?? []));
  return [...directories].sort().flatMap((directory) => sourcesIn(files, directory));
}
