/** The names and values of a text with one `name=value` in each line. Empty lines are left out. @throws Error for a line without `=`. */
export function metadataIn(text: string): Readonly<Record<string, string>> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(lines.map(pairOf));
}

/** The filter of the API for a text such as `task=42`; several pairs are separated by commas. @throws Error for a pair without `=`. */
export function metadataFilter(text: string): string | undefined {
  const pairs = text.split(",").filter((pair) => pair.trim() !== "");
  return pairs.length === 0 ? undefined : new URLSearchParams(pairs.map(pairOf)).toString();
}

/** The text of a filter of the API, as a person types it. */
export function filterText(filter: string | undefined): string {
  return [...new URLSearchParams(filter)].map((pair) => pair.join("=")).join(", ");
}

function pairOf(text: string): [name: string, value: string] {
  const at = text.indexOf("=");
  if (at < 1) throw new Error(`"${text.trim()}" is not of the form name=value`);
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}
