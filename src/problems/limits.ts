import { LIMIT_FIELDS } from "../domain/additions.ts";
import type { Limits, StepLimits } from "../domain/limits.ts";
import type { Languages } from "../languages/load.ts";
import type { PackageError } from "./files.ts";

const MIB = 1_048_576;

/** Limits of problem.yaml and those of the profile `judge` that bound them: `unit` of the latter is one of the former. */
const HONOURED = {
  time_limit: { step: "execute", limit: "cpuMs", unit: 1000, name: "s" },
  memory: { step: "execute", limit: "memoryBytes", unit: MIB, name: "MiB" },
  output: { step: "execute", limit: "stdoutBytes", unit: MIB, name: "MiB" },
  compilation_time: { step: "compile", limit: "cpuMs", unit: 1000, name: "s" },
  compilation_memory: { step: "compile", limit: "memoryBytes", unit: MIB, name: "MiB" },
  validation_time: { step: "execute", limit: "cpuMs", unit: 1000, name: "s" },
  validation_memory: { step: "execute", limit: "memoryBytes", unit: MIB, name: "MiB" },
  validation_output: { step: "execute", limit: "stdoutBytes", unit: MIB, name: "MiB" },
} as const satisfies Record<string, { step: keyof StepLimits; limit: keyof Limits; unit: number; name: string }>;

export type LimitName = keyof typeof HONOURED;

/** The highest value that holds in every language. */
export function highest(name: LimitName, languages: Languages): number {
  const { step, limit, unit } = HONOURED[name];
  const values = languages.list().map((language) => languages.limitsFor(language, "judge")[step]?.[limit]);
  return Math.min(...values.flatMap((value) => (value === undefined ? [] : [value / unit])));
}

/** @throws PackageError for a limit of the package that cannot be honoured. */
export function checkLimits(
  limits: { readonly [N in LimitName]?: number | undefined } & { readonly code?: number | undefined },
  languages: Languages,
  fault: (path: readonly string[], message: string) => PackageError,
): void {
  const fail = (name: string, message: string) => fault(["limits", name], `limits.${name}: ${message}`);
  for (const name of Object.keys(HONOURED) as LimitName[]) {
    const most = highest(name, languages);
    if ((limits[name] ?? 0) > most) throw fail(name, `the profile judge has at most ${most} ${HONOURED[name].name}`);
  }
  if (limits.memory !== undefined && limits.memory < LEAST_MEMORY_MIB)
    throw fail("memory", `no program starts with less than ${LEAST_MEMORY_MIB} MiB`);
  if (limits.code !== undefined) throw fail("code", "is not supported");
}

const LEAST_MEMORY_MIB = LIMIT_FIELDS.memory_bytes.least / MIB;
