import { z } from "zod";
import { MAX_PASSES } from "../domain/check.ts";
import type { ProblemLimits } from "../domain/judgement.ts";
import { LIMIT_FIELDS, type LimitField, type RequestedLimits } from "../domain/limits.ts";
import { inField } from "../domain/program-options.ts";
import type { Languages } from "../languages/load.ts";
import { PackageError, type PackageFiles, sizeOf, TIME_LIMIT_FILE } from "./files.ts";
import type { Read } from "./yaml.ts";

const KIB = 1_024;
const MIB = 1_048_576;
const seconds = z.number().positive();
const amount = z.int().positive();

/** Limits of problem.yaml that both formats have. */
const LIMITS = {
  time_limit: seconds.optional(),
  memory: amount.optional(),
  output: amount.optional(),
  code: amount.optional(),
  compilation_time: seconds.optional(),
  compilation_memory: amount.optional(),
  validation_time: seconds.optional(),
  validation_memory: amount.optional(),
  validation_output: amount.optional(),
  validation_passes: z.int().min(2).max(MAX_PASSES).optional(),
};
export const limits2025 = z.strictObject({
  time_multipliers: z
    .strictObject({ ac_to_time_limit: z.number().min(1).optional(), time_limit_to_tle: z.number().min(1).optional() })
    .optional(),
  time_resolution: seconds.optional(),
  ...LIMITS,
});
export const limitsLegacy = z.strictObject({
  time_multiplier: z.number().positive().optional(),
  time_safety_margin: z.number().positive().optional(),
  time_multipliers: z.unknown().optional(), // readLegacy() says that it has no effect
  ...LIMITS,
});

/** A limit of a package: for which program and step it is, and the limit of the step that it states. */
interface PackageLimit {
  readonly program: "submission" | "validator";
  readonly step: "compile" | "execute";
  readonly field: LimitField;
  /** How many units of the field one unit of the package has. */
  readonly scale: number;
  readonly unit: "s" | "MiB";
  /** The value of a package that does not state the limit; null: that of the profile. */
  readonly byDefault: number | null;
}

const PACKAGE_LIMITS = {
  time_limit: limitOf("submission", "execute", "cpu_time_secs", null),
  memory: limitOf("submission", "execute", "memory_bytes", 2_048),
  output: limitOf("submission", "execute", "stdout_bytes", 8),
  compilation_time: limitOf("submission", "compile", "cpu_time_secs", 60),
  compilation_memory: limitOf("submission", "compile", "memory_bytes", 2_048),
  validation_time: limitOf("validator", "execute", "cpu_time_secs", 60),
  validation_memory: limitOf("validator", "execute", "memory_bytes", 2_048),
  // The formats leave the default to the judge. An interactor may write a whole input of 16 MiB.
  validation_output: limitOf("validator", "execute", "stdout_bytes", 16),
} as const satisfies { readonly [L in keyof typeof LIMITS]?: PackageLimit };
type LimitOfPackage = keyof typeof PACKAGE_LIMITS;

/** The most KiB of a submission, if the package does not state it. The formats leave this to the judge; packages for DOMjudge rely on 256. */
const DEFAULT_CODE_KIB = 256;

function limitOf(
  program: PackageLimit["program"],
  step: PackageLimit["step"],
  field: LimitField,
  byDefault: number | null,
): PackageLimit {
  const isTime = field === "cpu_time_secs";
  return { program, step, field, scale: isTime ? 1 : MIB, unit: isTime ? "s" : "MiB", byDefault };
}

/** What the limits of a package mean for its runs. */
export interface LimitsOfPackage {
  /** What the package states for each run, without the time limit. */
  readonly run: RequestedLimits;
  /** The limits of all other steps. */
  readonly problem: ProblemLimits;
  /** The most bytes that a program can write to standard output. */
  readonly outputBytes: number;
}

/** The highest value that a limit of a package can have in every language, in the unit of the package. */
export function ceilingOf(name: LimitOfPackage, languages: Languages): number {
  const { step, field, scale } = PACKAGE_LIMITS[name];
  const steps = languages.list().flatMap((language) => languages.ceilingsFor(language, "judge")[step] ?? []);
  return Math.min(...steps.map((limits) => inField(limits, field))) / scale;
}

/**
 * The limits of a package. A limit that has the value of the format's default counts as not stated: if the ceiling is lower than the
 * default when a program is judged, the ceiling holds.
 * @throws PackageError for a limit that is too low, or above its ceiling.
 */
export function limitsOfPackage(
  given: { readonly [L in keyof typeof LIMITS]?: number | undefined },
  read: Pick<Read<unknown>, "fault">,
  languages: Languages,
): LimitsOfPackage {
  const refuse = (name: string, most: string) => read.fault(["limits", name], `limits.${name}: ${most}`);
  const [stated, defaults] = [noLimits(), noLimits()];
  for (const name of Object.keys(PACKAGE_LIMITS) as LimitOfPackage[]) {
    const { program, step, field, scale, unit, byDefault }: PackageLimit = PACKAGE_LIMITS[name];
    const value = given[name];
    const [least, ceiling] = [LIMIT_FIELDS[field].least / scale, ceilingOf(name, languages)];
    const isStated = value !== undefined && value !== byDefault;
    if (isStated && value < least) throw refuse(name, `at least ${least} ${unit}`);
    if (isStated && value > ceiling)
      throw refuse(name, `the ceiling of this service is ${ceiling} ${unit} (ASSAY_CEILINGS)`);
    if (name === "time_limit") continue; // it can also come from other places (timing.ts, import.ts)
    if (isStated) stated[program][step][field] = value * scale;
    else if (byDefault !== null) defaults[program][step][field] = byDefault * scale;
  }
  const { code = DEFAULT_CODE_KIB } = given;
  if (code !== DEFAULT_CODE_KIB && code * KIB > languages.mostSourceBytes)
    throw refuse("code", `the ceiling of this service is ${languages.mostSourceBytes / KIB} KiB (ASSAY_CEILINGS)`);
  const {
    stdout_bytes: outputBytes = Math.min(
      defaults.submission.execute.stdout_bytes ?? 0,
      ceilingOf("output", languages) * MIB,
    ),
  } = stated.submission.execute;
  return {
    run: stated.submission.execute,
    problem: {
      compile: stated.submission.compile,
      checker: stated.validator,
      codeBytes: code * KIB,
      defaults: { ...defaults.submission, checker: defaults.validator },
    },
    outputBytes,
  };
}

type LimitsByProgram = Record<PackageLimit["program"], Record<PackageLimit["step"], { [F in LimitField]?: number }>>;

function noLimits(): LimitsByProgram {
  return { submission: { compile: {}, execute: {} }, validator: { compile: {}, execute: {} } };
}

const INI = "domjudge-problem.ini";
const MAX_INI_BYTES = 16_384;
/** Keys of domjudge-problem.ini that name programs or arguments outside the package, and would change verdicts. */
const NOT_SUPPORTED = ["special_run", "special_compare", "special_compare_args"];

/**
 * The time limit that packages have in a file beside problem.yaml, because the format legacy has no key for it: `.timelimit`, which only
 * has the seconds, or the key `timelimit` of domjudge-problem.ini.
 * @returns seconds; null if neither file has one. @throws PackageError for a file that cannot be understood.
 */
export function timeLimitBeside(files: PackageFiles): number | null {
  const settings = iniOf(files);
  for (const key of NOT_SUPPORTED) if (settings.has(key)) throw new PackageError(INI, `${key} is not supported`);
  const [path, text] = files.has(TIME_LIMIT_FILE)
    ? [TIME_LIMIT_FILE, textOf(files, TIME_LIMIT_FILE).trim()]
    : [INI, settings.get("timelimit")];
  if (text === undefined) return null;
  if (!/^\d{1,6}(\.\d{1,6})?$/.test(text) || Number(text) === 0)
    throw new PackageError(path, "the time limit must be a number of seconds");
  return Number(text);
}

/** The settings of domjudge-problem.ini: lines of the form `key = value`, whose values can be in quotes. A comment begins with `;`. */
function iniOf(files: PackageFiles): ReadonlyMap<string, string> {
  const settings = new Map<string, string>();
  if (!files.has(INI)) return settings;
  for (const line of textOf(files, INI).split(/\r\n?|\n/)) {
    const at = line.indexOf("=");
    const [key, value] = [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    if (at < 0 || key.startsWith(";")) continue;
    const [quote = ""] = value;
    const end = quote === '"' || quote === "'" ? value.indexOf(quote, 1) : -1;
    settings.set(key, end < 0 ? (value.split(";")[0] ?? "").trim() : value.slice(1, end));
  }
  return settings;
}

function textOf(files: PackageFiles, path: string): string {
  if ((sizeOf(files, path) ?? 0) > MAX_INI_BYTES) throw new PackageError(path, `has more than ${MAX_INI_BYTES} bytes`);
  return String(files.get(path) ?? "");
}
