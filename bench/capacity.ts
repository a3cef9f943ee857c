import { readFileSync } from "node:fs";
import { costsOf, simulated } from "./capacity/tables.ts";
import { table } from "./row.ts";

/** node bench/capacity.ts SERVICE.JSON [SEED]: simulates loads with the costs that `assay bench service --json` has measured. */
const [path, seed = "1"] = process.argv.slice(2);
if (path === undefined || !/^\d+$/.test(seed)) {
  process.stderr.write("usage: node bench/capacity.ts SERVICE.JSON [SEED]\n");
  process.exit(2);
}
const costs = costsOf(JSON.parse(readFileSync(path, "utf8")));
process.stdout.write(`costs of one submission: ${JSON.stringify(costs)}\n${table(simulated(costs, Number(seed)))}\n`);
