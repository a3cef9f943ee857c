import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { costsOf, simulated, sizes } from "./capacity/tables.ts";
import { origin, tablesOf } from "./load/tables.ts";
import type { Whole } from "./load/whole.ts";

/**
 * node bench/fill.ts SERVICE.JSON...: writes what `assay bench service --json` has measured, and what follows from it, into the
 * places that bench/README.md and bench/CAPACITY.md keep for it. Each table is told with the run that it is from.
 */
const SEED = 1;

const wholes = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path, "utf8")) as Whole);
if (wholes.length === 0) throw new Error("usage: node bench/fill.ts SERVICE.JSON...");
const main = wholes.find(({ machine }) => machine.postgres !== null) ?? (wholes[0] as Whole);
const costs = costsOf(main);

const texts: Record<string, string> = {
  sizes: `${origin(main)}\n\n${markdown(sizes(main))}`,
  simulated: `${origin(main)} Seed ${SEED}.\n\n${markdown(simulated(costs, SEED))}`,
};
for (const name of ["loads", "idle", "pending", "stored"] as const) {
  const told = wholes.filter((whole) => tablesOf(whole)[name].length > 1);
  texts[name] = told.map((whole) => `${origin(whole)}\n\n${markdown(tablesOf(whole)[name])}`).join("\n\n");
}
for (const document of ["README.md", "CAPACITY.md"]) {
  const path = fileURLToPath(new URL(document, import.meta.url));
  const filled = readFileSync(path, "utf8").replaceAll(
    /(<!-- measured: (\w+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, begin: string, name: string, end: string) => `${begin}\n${texts[name] ?? ""}\n\n${end}`,
  );
  writeFileSync(path, filled);
}

function markdown([head = [], ...lines]: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [row(head), row(head.map(() => "---")), ...lines.map(row)].join("\n");
}
