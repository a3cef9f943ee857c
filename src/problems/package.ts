import { z } from "zod";
import type { Languages } from "../languages/load.ts";
import { readDmoj } from "./dmoj.ts";
import { filesBelow, PackageError, type PackageFiles, renamed } from "./files.ts";
import { checkLimits } from "./limits.ts";
import type { ProblemPackage, Timing } from "./problem.ts";
import { type Source, sourcesIn, toProgram } from "./source.ts";
import { readTests } from "./tests.ts";
import { type Read, readYaml } from "./yaml.ts";

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
  license: z.string().optional(),
  limits: limits2025.optional(),
});
const problemLegacy = z.looseObject({
  problem_format_version: z.union([z.literal("legacy"), z.literal("legacy-icpc")]).optional(),
  type: z.enum(["pass-fail", "scoring"]).optional(),
  name: title.optional(),
  license: z.string().optional(),
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
  readonly licence: string;
  readonly limits: z.output<z.ZodObject<typeof resources>>;
  readonly read: Read<unknown>;
}

/** Names of files that the formats have; others are of tools, and treated as absent. */
const FILE_NAME = /^([a-zA-Z0-9_][a-zA-Z0-9_.-]{0,254}(\/|$))+$/;

/**
 * Reads a package in the format `legacy` or `2025-09`, or of DMOJ. Parts that would change a verdict and are not supported are
 * faults. @throws PackageError for the first fault.
 */
export function readProblem(all: PackageFiles, languages: Languages): ProblemPackage {
  if (all.has("init.yml") && !all.has(YAML)) return readDmoj(all, languages);
  const files = renamed(
    all,
    new Map([...all.keys()].filter((path) => FILE_NAME.test(path)).map((path) => [path, path])),
  );
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
  const { memory, output } = honoured(head, languages);
  const { tests, groups, validation } = readTests(files, { ...head, format, validator: validator?.spec ?? null });
  const limits = {
    ...(memory !== undefined && { memory_bytes: memory * 1_048_576 }),
    ...(output !== undefined && { stdout_bytes: output * 1_048_576 }),
  };
  return {
    format,
    title: head.title,
    licence: head.licence,
    statements: [...files.keys()].filter((path) =>
      /^(problem_)?statement\/problem(\.[\w-]+)?\.(tex|md|pdf)$/.test(path),
    ),
    scoring: head.scoring,
    timing: head.timing,
    definition: {
      checker: validator?.spec ?? { type: "tokens", caseSensitive: false },
      groups,
      tests: tests.map(({ meta }) => ({ ...meta, limits })),
    },
    checker: validator?.program ?? null,
    tests,
    validation,
    inputValidators: [...sourcesIn(files, "input_validators"), ...sourcesIn(files, "input_format_validators")],
    submissions: submissionsOf(files),
  };
}

/** Limits for validators matter only to one of the package. */
function honoured({ limits, timing, custom, read }: Head, languages: Languages): Head["limits"] {
  const { validation_time: _, validation_memory: __, validation_output: ___, ...others } = limits;
  checkLimits({ ...(custom ? limits : others), time_limit: timing.limitSecs ?? undefined }, languages, read.fault);
  return limits;
}

function read2025(files: PackageFiles): Head {
  const read = readYaml(files, YAML, problem2025) as Read<z.output<typeof problem2025>>;
  const { type = "pass-fail", limits = {}, name, license = "unknown" } = read.value;
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
    licence: license,
    limits,
    read,
  };
}

function readLegacy(files: PackageFiles): Head {
  const read = readYaml(files, YAML, problemLegacy) as Read<z.output<typeof problemLegacy>>;
  const { type = "pass-fail", limits = {}, name = "", license = "unknown" } = read.value;
  const { validation = "default", validator_flags = "" } = read.value;
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
    licence: license,
    limits,
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

function submissionsOf(files: PackageFiles): Source[] {
  const directories = new Set([...files.keys()].flatMap((path) => /^(submissions\/[^/]+)\//.exec(path)?.[1] ?? []));
  return [...directories].sort().flatMap((directory) => sourcesIn(files, directory));
}
