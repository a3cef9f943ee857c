import { SANDBOX_ALLOWANCE_NAMES, SANDBOX_ALLOWANCES, type SandboxAllowance } from "../domain/sandboxes/allowance.ts";
import { AdminError } from "./error.ts";

const MAX_NAME_LENGTH = 100;

/** The largest values that are plausible; larger numbers are typing errors. */
const MAX_REQUESTS_PER_MINUTE = 1_000_000;
const MAX_CONCURRENCY = 10_000;

/**
 * Characters that a name cannot have, because names appear on terminals and in logs: control characters, line ends and others
 * that are invisible.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** @throws AdminError if the text is not a valid name for an account, project, key or tier. */
export function checkName(name: string): void {
  if (!isName(name)) {
    throw new AdminError(
      `the name must have 1 to ${MAX_NAME_LENGTH} visible characters, with no space at its start or end`,
    );
  }
}

export function isName(text: string): boolean {
  return text !== "" && text.trim() === text && text.length <= MAX_NAME_LENGTH && !UNPRINTABLE.test(text);
}

/** Null and undefined: no limit of its own. */
interface Limits {
  readonly requestsPerMinute?: number | null | undefined;
  readonly concurrency?: number | null | undefined;
}

/** @throws AdminError if a limit is out of range. */
export function checkLimits({ requestsPerMinute, concurrency }: Limits): void {
  checkRange("requests per minute", requestsPerMinute, MAX_REQUESTS_PER_MINUTE);
  checkRange("concurrency", concurrency, MAX_CONCURRENCY);
}

/** @throws AdminError if a limit of the sandboxes of an account is out of range. */
export function checkAllowance(allowance: Partial<SandboxAllowance>): void {
  for (const name of SANDBOX_ALLOWANCE_NAMES) {
    const { what, most } = SANDBOX_ALLOWANCES[name];
    checkRange(what, allowance[name], most);
  }
}

function checkRange(what: string, value: number | null | undefined, most: number): void {
  if (value === undefined || value === null || (Number.isInteger(value) && value >= 1 && value <= most)) return;
  throw new AdminError(`${what} must be a whole number from 1 to ${most}`);
}

/** The longest overlap of two keys or secrets. */
const MAX_OVERLAP_MS = 90 * 24 * 3_600_000;

/** @throws AdminError unless the overlap is a whole number of milliseconds from 0 to 90 days. */
export function checkOverlap(overlapMs: number): void {
  if (!Number.isInteger(overlapMs) || overlapMs < 0 || overlapMs > MAX_OVERLAP_MS) {
    throw new AdminError(`the overlap must be from 0 to ${MAX_OVERLAP_MS / 86_400_000} days`);
  }
}
