import { readFileSync } from "node:fs";

const DEFINITION = readFileSync(new URL("../../launcher/protocol.def", import.meta.url), "utf8");
const CONTROLS = readFileSync(new URL("../../launcher/controls.def", import.meta.url), "utf8");
const COUNTS: Readonly<Record<string, string>> = { ONE: "", OPT: ', "optional"', MANY: ', "many"' };

/** The frames of launcher/protocol.def as TypeScript. */
export function frames(): string {
  const rows = [...DEFINITION.matchAll(/^FRAME\((\d+), (\w+),/gm)].map(([, number, name]) => `  ${name}: ${number},`);
  return ["export const FRAMES = {", ...rows, "} as const;"].join("\n");
}

/** The keys of launcher/protocol.def as TypeScript. */
export function keys(): string {
  const rows = [...DEFINITION.matchAll(/^KEY\((\d+), (\w+), (INT|BYTES), (\w+), (ONE|OPT|MANY),/gm)].map(
    ([, number, name, type = "", frame, count = ""]) =>
      `  ${name}: ${type.toLowerCase()}(${number}, "${frame}"${COUNTS[count]}),`,
  );
  return ["export const KEYS = {", ...rows, "} as const satisfies Record<string, FrameKey>;"].join("\n");
}

/** The controls of launcher/controls.def as TypeScript. */
export function controls(): string {
  const rows = [...CONTROLS.matchAll(/^CONTROL\((\w+)\)$/gm)].map(([, name]) => `  "${name}",`);
  return ["export const CONTROLS = [", ...rows, "] as const;"].join("\n");
}
