import { LIMIT_FIELDS, type LimitField, type Limits, type RequestedLimits } from "../../domain/limits.ts";
import { inField } from "../../domain/program-options.ts";
import type { Faults } from "./field-errors.ts";
import type { Judge0Settings } from "./submission.ts";

/** How a limit of Judge0 corresponds to one of ours. */
interface LimitSetting {
  readonly limit: LimitField;
  /** How many of our units are one unit of Judge0, for example 1,024 bytes for a kilobyte. */
  readonly scale: number;
  /** The lowest value that Judge0 allows, in its unit. */
  readonly least: number;
}

export const LIMIT_SETTINGS = {
  cpu_time_limit: { limit: "cpu_time_secs", scale: 1, least: 0 },
  wall_time_limit: { limit: "wall_time_secs", scale: 1, least: 1 },
  memory_limit: { limit: "memory_bytes", scale: 1024, least: 2048 },
  stack_limit: { limit: "stack_bytes", scale: 1024, least: 0 },
  max_processes_and_or_threads: { limit: "processes", scale: 1, least: 1 },
  max_file_size: { limit: "file_bytes", scale: 1024, least: 1 },
} as const satisfies Partial<Record<keyof Judge0Settings, LimitSetting>>;

type LimitName = keyof typeof LIMIT_SETTINGS;
export const LIMIT_NAMES = Object.keys(LIMIT_SETTINGS) as LimitName[];

/**
 * The highest `cpu_extra_time`. The setting has no effect: in Judge0, a program may run for this time beyond its limit of CPU time before
 * it is killed, but here it is killed at the limit.
 */
export const MAX_CPU_EXTRA_SECS = 5;
/** The highest `number_of_runs`, as in Judge0. */
export const MAX_NUMBER_OF_RUNS = 20;

/** The value of a limit in Judge0's unit. */
export function inJudge0(limits: Limits, name: LimitName): number {
  const { limit, scale } = LIMIT_SETTINGS[name];
  const value = inField(limits, limit) / scale;
  return scale === 1 ? value : Math.floor(value);
}

type Fields = Readonly<Record<string, unknown>>;

/** The most characters of a number. */
const MAX_NUMBER = 64;

/** The number in a field. As in Judge0, the field can have it as text. Null if the field is empty or absent, or has a fault. */
export function numberOf(fields: Fields, name: string, faults: Faults): number | null {
  const value = fields[name] ?? "";
  if (value === "") return null;
  const isShort = typeof value === "string" && value.length <= MAX_NUMBER;
  const number = isShort && /^\s*[+-]?\d{1,15}(\.\d{1,15})?\s*$/.test(value) ? Number(value) : value;
  if (typeof number === "number" && Number.isFinite(number)) return number;
  faults.add(name, "is not a number");
  return null;
}

function booleanOf(fields: Fields, name: string, faults: Faults): boolean {
  const value = fields[name] ?? false;
  if ([true, "true", 1, "1"].includes(value as never)) return true;
  if (![false, "false", 0, "0", ""].includes(value as never)) faults.add(name, "is not a boolean");
  return false;
}

/**
 * Reads the settings of a request. A limit above the highest one that the key may set is lowered to it: clients send Judge0's defaults, and
 * the answer has the limits that hold. @param limits the highest limits that the request may set.
 * @returns all settings, with defaults for those that the request does not have; and the limits that it lowers, as our own API names them.
 */
export function settingsOf(fields: Fields, limits: Limits, faults: Faults) {
  const within = (name: string, least: number, most: number, otherwise: number) => {
    const value = numberOf(fields, name, faults) ?? otherwise;
    if (value < least) faults.add(name, `must be greater than or equal to ${least}`);
    if (value > most) faults.add(name, `must be less than or equal to ${most}`);
    return value;
  };
  const held = LIMIT_NAMES.map((name) => {
    const { limit, scale, least } = LIMIT_SETTINGS[name];
    const most = inJudge0(limits, name);
    const wanted = within(name, Math.max(least, LIMIT_FIELDS[limit].least / scale), Number.POSITIVE_INFINITY, most);
    const value = Math.min(wanted, most);
    return [name, name.endsWith("time_limit") ? value : Math.trunc(value)] as const;
  });
  const network = booleanOf(fields, "enable_network", faults);
  if (network) faults.add("enable_network", "enabling network is not allowed");
  const fixed = {
    cpu_extra_time: Math.min(within("cpu_extra_time", 0, Number.POSITIVE_INFINITY, 0), MAX_CPU_EXTRA_SECS),
    number_of_runs: Math.trunc(within("number_of_runs", 1, MAX_NUMBER_OF_RUNS, 1)),
    ...notPerProcess(fields, faults),
    redirect_stderr_to_stdout: booleanOf(fields, "redirect_stderr_to_stdout", faults),
    enable_network: network,
  };
  const requested: RequestedLimits = Object.fromEntries(
    held
      .filter(([name, value]) => value < inJudge0(limits, name))
      .map(([name, value]) => [LIMIT_SETTINGS[name].limit, value * LIMIT_SETTINGS[name].scale]),
  );
  return { settings: { ...(Object.fromEntries(held) as Record<LimitName, number>), ...fixed }, limits: requested };
}

/**
 * The flags by which a limit holds for each process alone. Clients send them with Judge0's defaults, but here, a limit always holds for all
 * processes together, which the answer says. For a program of one process, this is the same.
 */
function notPerProcess(fields: Fields, faults: Faults) {
  const names = ["enable_per_process_and_thread_time_limit", "enable_per_process_and_thread_memory_limit"] as const;
  for (const name of names) booleanOf(fields, name, faults);
  return Object.fromEntries(names.map((name) => [name, false])) as Record<(typeof names)[number], false>;
}
