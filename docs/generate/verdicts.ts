import { gaps, table as matrixTable } from "../../test/matrix/table.ts";

/** The matrix as test/matrix/ checks it, with the reasons for its gaps. */
export function matrix(): string {
  return `${matrixTable((row, language) => row.ends[language] as string)}\n\nA dash means that the language has no such program:\n\n${gaps()}`;
}
