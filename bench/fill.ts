import { readFileSync, writeFileSync } from "node:fs";
import { costsOf, simulated, sizes } from "./capacity/tables.ts";
import { origin, tablesOf } from "./load/tables.ts";
import type { Whole } from "./load/whole.ts";

/**
 * node bench/fill.ts SERVICE.JSON...: writes the results of `assay bench service --json` into bench/measured.tsv, and the machine sizes
 * that follow from them into the table of bench/CAPACITY.md. Each table names the run that measured it.
 */
const SEED = 1;

const wholes = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path, "utf8")) as Whole);
if (wholes.length === 0) throw new Error("usage: node bench/fill.ts SERVICE.JSON...");
const main = wholes.find(({ machine }) => machine.postgres !== null) ?? (wholes[0] as Whole);

const tables = (["loads", "idle", "pending", "stored"] as const).map((name) => {
  const parts = wholes.map((whole) => ({ whole, rows: tablesOf(whole)[name] })).filter(({ rows }) => rows.length > 1);
  return `## ${name}\n${parts.map(({ whole, rows }) => `# ${origin(whole)}\n${tabbed(rows)}`).join("\n")}\n`;
});
const simulation = `## simulated\n# ${origin(main)} Seed ${SEED}.\n${tabbed(simulated(costsOf(main), SEED))}\n`;
writeFileSync(new URL("./measured.tsv", import.meta.url), [...tables, simulation].join("\n"));

const document = new URL("./CAPACITY.md", import.meta.url);
const filled = readFileSync(document, "utf8").replace(
  /(<!-- measured: sizes -->\n)[\s\S]*?(<!-- end -->)/,
  (_, begin: string, end: string) => `${begin}\n${origin(main)}\n\n${markdown(sizes(main))}\n\n${end}`,
);
writeFileSync(document, filled);

function tabbed(rows: readonly (readonly string[])[]): string {
  return rows.map((cells) => cells.join("\t")).join("\n");
}

function markdown([head = [], ...lines]: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [row(head), row(head.map(() => "---")), ...lines.map(row)].join("\n");
}
