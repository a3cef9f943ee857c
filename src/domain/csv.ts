/** A first character with which a spreadsheet takes a cell for a formula. */
const FORMULA = /^[=+\-@\t\r＝＋－＠]/;

/** A line of RFC 4180. Text that a spreadsheet would run as a formula begins with an apostrophe. */
export function csvLine(cells: readonly (string | number | null)[]): string {
  return `${cells.map(cell).join(",")}\r\n`;
}

function cell(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
}
