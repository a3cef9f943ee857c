/** What a list of submissions can be narrowed down by: what its address carries, under the names of the API. */
export const SEARCHED = ["verdict", "status", "language", "key", "project", "account", "id", "since", "until"] as const;

export type Search = { readonly [name in (typeof SEARCHED)[number]]?: string | undefined };

/** What a field for a local time shows of an ISO time, and back; undefined where there is none. */
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
