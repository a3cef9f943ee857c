/** Matches a cell that a spreadsheet takes for a formula, by its first character. */
const FORMULA = /^[=+\-@\t\r＝＋－＠]/;

/** A line of CSV (RFC 4180). A text that a spreadsheet would take for a formula gets an apostrophe at its beginning. */
export function csvLine(cells: readonly (string | number | null)[]): string {
  return `${cells.map(cell).join(",")}\r\n`;
}

function cell(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
}
