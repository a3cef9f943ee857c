import type { JudgedChecker } from "../../../src/http/dashboard/api/judgements.ts";

export function checkerSummary({ type, caseSensitive, absolute, relative, program }: JudgedChecker): string {
  if (program) return `a program in ${program.language} (${program.interface})`;
  const errors = [
    ...(absolute === null ? [] : [`absolute error ${absolute}`]),
    ...(relative === null ? [] : [`relative error ${relative}`]),
  ];
  const more = [...errors, ...(caseSensitive ? [] : ["upper and lower case are the same"])];
  return more.length === 0 ? type : `${type}: ${more.join(", ")}`;
}
