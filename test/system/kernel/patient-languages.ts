import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * patient-languages FROM TO FACTOR: copies languages/ with longer time limits, for a slow kernel. The service and the
 * tests both read these limits.
 */
const [from = "", to = "", factor = ""] = process.argv.slice(2);
if (!(Number(factor) >= 1)) throw new Error(`${factor} is not a factor`);

cpSync(from, to, { recursive: true });
for (const file of readdirSync(to).filter((name) => name.endsWith(".json"))) {
  const path = join(to, file);
  const longer = JSON.parse(readFileSync(path, "utf8"), (key, value) =>
    key === "wallMs" || key === "cpuMs" ? times(value) : value,
  );
  writeFileSync(path, JSON.stringify(longer));
}

/** Profiles have a plain number; languages have a value with its reason. Reasons have the same names. */
function times(limit: unknown): unknown {
  if (typeof limit === "number") return limit * Number(factor);
  if (typeof limit === "object" && limit !== null && "value" in limit) return { ...limit, value: times(limit.value) };
  return limit;
}
