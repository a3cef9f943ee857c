/** Converts an ISO time to the value of a `datetime-local` input; the value is empty if the time is absent or invalid. */
export function toLocalInput(iso: string | undefined): string {
  const ms = Date.parse(iso ?? "");
  if (Number.isNaN(ms)) return "";
  const date = new Date(ms);
  return new Date(ms - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Converts the value of a `datetime-local` input to an ISO time; undefined if the input is empty. */
export function fromLocalInput(local: string): string | undefined {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}
