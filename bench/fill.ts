import { readFileSync, writeFileSync } from "node:fs";
import { costsOf, simulated, sizes } from "./capacity/tables.ts";
import { origin, tablesOf } from "./load/tables.ts";
import type { Whole } from "./load/whole.ts";

/**
 * node bench/fill.ts SERVICE.JSON...: writes the results of `assay bench service --json` into bench/measured.tsv, and
 * the results derived from them into the tables of bench/CAPACITY.md. Each table names its run.
 */
const SEED = 1;

const wholes = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path, "utf8")) as Whole);
if (wholes.length === 0) throw new Error("usage: node bench/fill.ts SERVICE.JSON...");
const main = wholes.find(({ machine }) => machine.postgres !== null) ?? (wholes[0] as Whole);
const costs = costsOf(main);

const measured = (["loads", "idle", "pending", "stored"] as const).map((name) => {
  const tables = wholes.map((whole) => ({ whole, rows: tablesOf(whole)[name] })).filter(({ rows }) => rows.length > 1);
  const texts = tables.map(
    ({ whole, rows }) => `# ${origin(whole)}\n${rows.map((cells) => cells.join("\t")).join("\n")}`,
  );
  return `## ${name}\n${texts.join("\n")}\n`;
});
writeFileSync(new URL("measured.tsv", import.meta.url), measured.join("\n"));

const texts: Record<string, string> = {
  sizes: `${origin(main)}\n\n${markdown(sizes(main))}`,
  simulated: `${origin(main)} Seed ${SEED}.\n\n${markdown(simulated(costs, SEED))}`,
};
const document = new URL("CAPACITY.md", import.meta.url);
const filled = readFileSync(document, "utf8").replaceAll(
  /(<!-- measured: (\w+) -->\n)[\s\S]*?(<!-- end -->)/g,
  (_, begin: string, name: string, end: string) => `${begin}\n${texts[name] ?? ""}\n\n${end}`,
);
writeFileSync(document, filled);

function markdown([head = [], ...lines]: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [row(head), row(head.map(() => "---")), ...lines.map(row)].join("\n");
}
