import { CAUSES, type CauseRow, LIMIT_CAUSES } from "../../src/domain/causes.ts";
import { code, table } from "./table.ts";

const ROWS = Object.entries<CauseRow>(CAUSES);

/** The table of docs/verdicts.md: what proves each cause. */
export function causes(): string {
  const rows = ROWS.flatMap(([cause, { verdict, evidence }]) =>
    Object.entries(evidence).map(([actor, text]) => [verdict, code(cause), actor, text]),
  );
  return table(["verdict", "cause", "actor", "evidence"], rows);
}

/** dashboard/src/components/causes.ts: names of causes, without the rest of the table, which would make the page larger. */
export function dashboardCauses(): string {
  const names = [
    ...ROWS.map(([cause, { name }]) => [cause, name]),
    ...LIMIT_CAUSES.map((cause) => [`compile_${cause}`, `Compiler: ${lowerFirst(CAUSES[cause].name)}`]),
  ];
  const words = ROWS.flatMap(([cause, { words: said }]) => (said === undefined ? [] : [[cause, said]]));
  return `// Generated from src/domain/causes.ts: npm run generate.

/** The causes that submissions can be filtered by, with their names. A cause says more exactly than a verdict how a run ended. */
export const CAUSES: Readonly<Record<string, string>> = {
${names.map(([cause, name]) => `  ${cause}: "${name}",`).join("\n")}
};

/** Short words for the causes that say more than their verdicts. */
export const CAUSE_WORDS: Readonly<Record<string, string>> = {
${words.map(([cause, said]) => `  ${cause}: "${said}",`).join("\n")}
};
`;
}

/** The text with a small first letter, unless it begins with an abbreviation, such as CPU. */
function lowerFirst(text: string): string {
  return /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}
