import { RANGES } from "../../../src/http/dashboard/api/lists.ts";

/** The filters of a list of submissions: parameters of the URL and of the API. */
export const SUBMISSION_FILTERS = [
  "verdict",
  "cause",
  "status",
  "language",
  "key",
  "project",
  "account",
  "id",
  "range",
  "since",
  "until",
  "order",
] as const;

/** The filters of a list of judgements. */
export const JUDGEMENT_FILTERS = [...SUBMISSION_FILTERS.filter((name) => name !== "cause"), "problem"] as const;

export type Search = { readonly [name in (typeof SUBMISSION_FILTERS)[number] | "problem"]?: string | undefined };

const RANGE_NAMES: Readonly<Record<string, string>> = {
  "15m": "Last 15 minutes",
  "1h": "Last hour",
  "24h": "Last 24 hours",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
};

export const RANGE_OPTIONS = RANGES.map((value) => ({ value, label: RANGE_NAMES[value] ?? value }));

/** The order of a list is no filter. */
export function filtersIn({ order: _, ...filters }: Search): [string, string][] {
  return Object.entries(filters).filter((entry): entry is [string, string] => Boolean(entry[1]));
}
