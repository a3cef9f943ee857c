/** Converts an ISO time to the value of a `datetime-local` input; empty for no time. */
export function toLocalInput(iso: string | undefined): string {
  const ms = Date.parse(iso ?? "");
  if (Number.isNaN(ms)) return "";
  const date = new Date(ms);
  return new Date(ms - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Converts the value of a `datetime-local` input to an ISO time. */
export function fromLocalInput(local: string): string | undefined {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}
