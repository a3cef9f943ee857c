/** The filters of a list of submissions: parameters of the URL and of the API. */
export const SEARCHED = ["verdict", "status", "language", "key", "project", "account", "id", "since", "until"] as const;

/** The same for judgements. */
export const JUDGED_SEARCHED = [...SEARCHED, "problem"] as const;

export type Search = { readonly [name in (typeof JUDGED_SEARCHED)[number]]?: string | undefined };

/** Converts an ISO time for an input of local time, and back. */
export function toLocal(iso: string | undefined): string {
  const ms = Date.parse(iso ?? "");
  if (Number.isNaN(ms)) return "";
  const date = new Date(ms);
  return new Date(ms - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export function fromLocal(local: string): string | undefined {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}
