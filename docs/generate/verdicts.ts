import { LANGUAGES, MATRIX, type Row } from "../../test/system/matrix/cells.ts";
import { code, table } from "./table.ts";

/**
 * The matrix that test/system/matrix/ checks: each program with its end in every language. Languages with the same end are listed
 * together.
 */
export function matrix(): string {
  const rows = MATRIX.map((row) => {
    const program = `${code(row.program)}${row.injected ? `, ${row.injected}` : ""}`;
    return [program, row.verdict, code(row.cause), endsOf(row)];
  });
  return table(["program", "verdict", "cause", "the program ends with"], rows);
}

function endsOf({ ends, missing }: Row): string {
  const present = LANGUAGES.filter((language) => ends[language] !== undefined);
  const byEnd = Map.groupBy(present, (language) => ends[language] as string);
  const texts = [...byEnd].map(([end, languages]) => {
    return languages.length === LANGUAGES.length ? end : `${languages.join(", ")}: ${end}`;
  });
  const gaps = [...Map.groupBy(Object.entries(missing), ([, reason]) => reason)].map(
    ([reason, languages]) => `missing in ${languages.map(([language]) => language).join(", ")}: ${reason}`,
  );
  return [...texts, ...gaps].join("; ");
}
