import { InvalidArgumentError } from "commander";
import { isProfileName, PROFILE_NAMES, type ProfileName } from "../domain/limits.ts";

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("must be a whole number");
  return Number(text);
}

/** A limit, or `tier` for the limit of the tier. It is not null, because the parser of options treats null as a missing value. */
export function limitOrTier(text: string): number | "tier" {
  return text === "tier" ? text : wholeNumber(text);
}

/** Default overlap of a rotation. */
export const DEFAULT_OVERLAP = "24h";

/** `90s`, `15m`, `24h`, `7d` or 0. @returns milliseconds. */
export function duration(text: string): number {
  const [, amount, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (text === "0") return 0;
  if (amount === undefined) throw new InvalidArgumentError("must be 0 or a time like 90s, 15m, 24h or 7d");
  return Number(amount) * (UNIT_MS[unit] ?? 0);
}

/** Collects the values of a repeatable option. */
export function append(text: string, others: readonly string[]): string[] {
  return [...others, text];
}

export function profile(text: string): ProfileName {
  if (isProfileName(text)) return text;
  throw new InvalidArgumentError(`must be one of ${PROFILE_NAMES.join(", ")}`);
}

export function profileList(text: string): ProfileName[] {
  return text.split(",").map(profile);
}
