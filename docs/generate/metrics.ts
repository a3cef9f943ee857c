import { METRICS } from "../../src/domain/metrics.ts";
import { code, table } from "./table.ts";

/** Every metric of src/domain/metrics.ts. */
export function metrics(): string {
  return table(
    ["metric", "labels", "meaning"],
    Object.values(METRICS).map(({ name, labels, help }) => {
      return [code(name), Object.keys(labels).map(code).join(", ") || "–", help];
    }),
  );
}
