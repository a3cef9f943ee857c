import { RANGES } from "../../../src/http/dashboard/api/lists.ts";

/** The parameters of a list of submissions, in the URL and in the API: its filters and its order. */
export const SUBMISSION_PARAMETERS = [
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

/** The parameters of a list of judgements. */
export const JUDGEMENT_PARAMETERS = [...SUBMISSION_PARAMETERS.filter((name) => name !== "cause"), "problem"] as const;

/** The parameters of the list of sandboxes. */
export const SANDBOX_PARAMETERS = ["state", "metadata", "project", "account"] as const;
export type SandboxSearch = { readonly [name in (typeof SANDBOX_PARAMETERS)[number]]?: string | undefined };

/** The parameters of the list of snapshots. */
export const SNAPSHOT_PARAMETERS = ["project", "account"] as const;
export type SnapshotSearch = { readonly [name in (typeof SNAPSHOT_PARAMETERS)[number]]?: string | undefined };

/** The parameters of the page about the network. `days`: a period up to today, such as `30d`. `day`: the only one whose hosts are listed. */
export const NETWORK_PARAMETERS = ["account", "project", "days", "day", "decision"] as const;
export type NetworkSearch = { readonly [name in (typeof NETWORK_PARAMETERS)[number]]?: string | undefined };

export type Search = { readonly [name in (typeof SUBMISSION_PARAMETERS)[number] | "problem"]?: string | undefined };

const RANGE_NAMES: Readonly<Record<string, string>> = {
  "15m": "Last 15 minutes",
  "1h": "Last hour",
  "24h": "Last 24 hours",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
};

export const RANGE_OPTIONS = RANGES.map((value) => ({ value, label: RANGE_NAMES[value] ?? value }));

/** The parameters that are filters: all that have a value, except the order. */
export function filtersIn({ order: _, ...filters }: Search): [string, string][] {
  return Object.entries(filters).filter((entry): entry is [string, string] => Boolean(entry[1]));
}
