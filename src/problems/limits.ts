import { z } from "zod";
import { MAX_PASSES } from "../domain/check.ts";
import { LIMIT_FIELDS, type Limits, type RequestedLimits } from "../domain/limits.ts";
import { MAX_FILES_BYTES } from "../domain/program-options.ts";
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
  ...LIMITS,
});

/**
 * For each limit of a package, the limit of the profile `judge` that bounds it, and how many units of that limit one unit of the
 * package has.
 */
const ENFORCED = {
  time_limit: { step: "execute", limit: "cpuMs", scale: 1_000, unit: "s" },
  memory: { step: "execute", limit: "memoryBytes", scale: MIB, unit: "MiB" },
  output: { step: "execute", limit: "stdoutBytes", scale: MIB, unit: "MiB" },
  compilation_time: { step: "compile", limit: "cpuMs", scale: 1_000, unit: "s" },
  compilation_memory: { step: "compile", limit: "memoryBytes", scale: MIB, unit: "MiB" },
  validation_time: { step: "execute", limit: "cpuMs", scale: 1_000, unit: "s" },
  validation_memory: { step: "execute", limit: "memoryBytes", scale: MIB, unit: "MiB" },
  validation_output: { step: "execute", limit: "stdoutBytes", scale: MIB, unit: "MiB" },
} as const satisfies Record<string, { step: "compile" | "execute"; limit: keyof Limits; scale: number; unit: string }>;

const LEAST_MEMORY = LIMIT_FIELDS.memory_bytes.least / MIB;

/** What the limits of a package mean for its runs. */
export interface ProblemLimits {
  /** The limits of each run, without the time limit. */
  readonly run: RequestedLimits;
  /** The most bytes that a program can write to standard output, whatever its language is. */
  readonly outputBytes: number;
  /** The most bytes of a submission; null if the package does not limit them. */
  readonly codeBytes: number | null;
}

/** The highest value that a limit of a package can have in every language, in the unit of the package. */
export function highest(name: keyof typeof ENFORCED, languages: Languages): number {
  const { step, limit, scale } = ENFORCED[name];
  const steps = languages.list().map((language) => languages.limitsFor(language, "judge"));
  return Math.min(...steps.map((one) => one[step]?.[limit] ?? Number.POSITIVE_INFINITY)) / scale;
}

/** @throws PackageError for a limit that is too low, or higher than the profile `judge` of at least one language permits. */
export function problemLimits(
  given: { readonly [L in keyof typeof LIMITS]?: number | undefined },
  read: Read<unknown>,
  languages: Languages,
): ProblemLimits {
  const refuse = (name: string, most: string) => read.fault(["limits", name], `limits.${name}: ${most}`);
  for (const name of Object.keys(ENFORCED) as (keyof typeof ENFORCED)[]) {
    const most = highest(name, languages);
    if ((given[name] ?? 0) > most) throw refuse(name, `the profile judge has at most ${most} ${ENFORCED[name].unit}`);
  }
  const { memory, output, code } = given;
  if (memory !== undefined && memory < LEAST_MEMORY) throw refuse("memory", `at least ${LEAST_MEMORY} MiB`);
  if (code !== undefined && code * KIB > MAX_FILES_BYTES) throw refuse("code", `at most ${MAX_FILES_BYTES / KIB} KiB`);
  return {
    run: {
      ...(memory !== undefined && { memory_bytes: memory * MIB }),
      ...(output !== undefined && { stdout_bytes: output * MIB }),
    },
    outputBytes: (output ?? highest("output", languages)) * MIB,
    codeBytes: code === undefined ? null : code * KIB,
  };
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
