import { METRICS } from "../../src/domain/metrics.ts";
import { code, table } from "./table.ts";

/** Every metric of src/domain/metrics.ts. */
export function metrics(): string {
  return table(
    ["metric", "type", "labels", "meaning"],
    Object.values(METRICS).map(({ kind, name, labels, help }) => {
      return [code(name), kind, Object.keys(labels).map(code).join(", ") || "–", help];
    }),
  );
}
