import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * patient-languages FROM TO FACTOR: a copy of languages/ whose limits of time are longer, for a kernel on which
 * everything takes longer. Whatever reads limits, service and tests alike, finds these, and knows nothing of it.
 */
const [from = "", to = "", factor = ""] = process.argv.slice(2);
if (!(Number(factor) >= 1)) throw new Error(`${factor} is no factor`);

cpSync(from, to, { recursive: true });
for (const file of readdirSync(to).filter((name) => name.endsWith(".json"))) {
  const path = join(to, file);
  const longer = JSON.parse(readFileSync(path, "utf8"), (key, value) =>
    key === "wallMs" || key === "cpuMs" ? times(value) : value,
  );
  writeFileSync(path, JSON.stringify(longer));
}

/** A limit stands alone in a profile, with its reason in a language, and there are reasons of the same name. */
function times(limit: unknown): unknown {
  if (typeof limit === "number") return limit * Number(factor);
  if (typeof limit === "object" && limit !== null && "value" in limit) return { ...limit, value: times(limit.value) };
  return limit;
}
