import { CONTROLS, SANDBOX_CONTROLS } from "../domain/controls.ts";
import type { StepReport } from "../domain/report.ts";

/** The controls that a report does not confirm, as "name: why": those that it names as missing, and those that it does not name. */
export function missingControls({ controls, controlsMissing, inSandbox }: StepReport): string[] {
  const named = new Set([...controls, ...controlsMissing.map((text) => text.split(":")[0])]);
  const omitted = (inSandbox ? SANDBOX_CONTROLS : CONTROLS).filter((control) => !named.has(control));
  return [...controlsMissing, ...omitted.map((control) => `${control}: was not reported`)];
}
