import { AdminError } from "./error.ts";

const MAX_NAME_LENGTH = 100;

/** Largest limits that make sense; beyond them, a number is a typing mistake. */
const MAX_REQUESTS_PER_MINUTE = 1_000_000;
const MAX_CONCURRENCY = 10_000;

/** Lists are read on terminals and in logs: no name may move the cursor or end a line. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** @throws AdminError when the text is no name for an account, a project, a key or a tier. */
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

/** Null and undefined mean that there is no limit of its own. */
interface Limits {
  readonly requestsPerMinute?: number | null | undefined;
  readonly concurrency?: number | null | undefined;
}

/** @throws AdminError when a limit is out of its range. */
export function checkLimits({ requestsPerMinute, concurrency }: Limits): void {
  checkRange("requests per minute", requestsPerMinute, MAX_REQUESTS_PER_MINUTE);
  checkRange("concurrency", concurrency, MAX_CONCURRENCY);
}

function checkRange(what: string, value: number | null | undefined, most: number): void {
  if (value === undefined || value === null || (Number.isInteger(value) && value >= 1 && value <= most)) return;
  throw new AdminError(`${what} must be a whole number from 1 to ${most}`);
}

/** Longer than this, two keys or two secrets are not an overlap. */
const MAX_OVERLAP_MS = 90 * 24 * 3_600_000;

/** @throws AdminError unless it is from 0 to 90 days, in whole milliseconds. */
export function checkOverlap(overlapMs: number): void {
  if (!Number.isInteger(overlapMs) || overlapMs < 0 || overlapMs > MAX_OVERLAP_MS) {
    throw new AdminError(`the overlap must be from 0 to ${MAX_OVERLAP_MS / 86_400_000} days`);
  }
}
