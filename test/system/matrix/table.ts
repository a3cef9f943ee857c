import { type Cell, LANGUAGES, MATRIX, type Row } from "./cells.ts";

/**
 * The matrix as a Markdown table, one line for each row.
 * @param cell returns the text of a cell: the expected or the actual end.
 */
export function table(cell: (row: Row, language: Cell["language"]) => string): string {
  const head = ["program", "verdict", "cause", ...LANGUAGES.map((language) => `\`${language}\``)];
  const lines = MATRIX.map((row) => [
    `\`${row.program}\`${row.injected ? `, ${row.injected}` : ""}`,
    row.verdict,
    `\`${row.cause}\``,
    ...LANGUAGES.map((language) => (row.ends[language] === undefined ? "–" : cell(row, language))),
  ]);
  const ruler = head.map(() => "---");
  return [head, ruler, ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
