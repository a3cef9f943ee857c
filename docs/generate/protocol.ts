import { readFileSync } from "node:fs";
import { NO_BOUND } from "../../src/domain/limits.ts";
import { MEASURED, type MeasuredRow } from "../../src/domain/measured.ts";
import { LIMIT_ENTRIES } from "../../src/sandbox/step.ts";
import { comment } from "./comment.ts";

const DEFINITION = readFileSync(new URL("../../launcher/protocol.def", import.meta.url), "utf8");
const CONTROLS = readFileSync(new URL("../../launcher/controls.def", import.meta.url), "utf8");
const COUNTS: Readonly<Record<string, string>> = { ONE: "", OPT: ', "optional"', MANY: ', "many"' };

const MEASURED_ROWS: readonly MeasuredRow[] = Object.values(MEASURED);

/** The rows of the limits in launcher/protocol.def. */
export function limitKeys(): string {
  const rows = LIMIT_ENTRIES.map(({ name, meaning, key, rlimit = "NO_RLIMIT" }) => [
    ...comment(`${meaning}.`),
    `LIMIT(${key.number}, ${name}, ${bound(name, key.smallest)}, ${bound(name, key.largest)}, ${rlimit})`,
  ]);
  return rows.flat().join("\n");
}

const UNITS = [
  ["GiB", 1024 ** 3],
  ["MiB", 1024 ** 2],
  ["KiB", 1024],
] as const;

/** The rows of the measured numbers in launcher/protocol.def. */
export function measuredKeys(): string {
  const rows = MEASURED_ROWS.map(({ key: { name, number }, meaning, cgroup, isOptional }) => {
    const count = isOptional ? "OPT" : "ONE";
    return [
      ...comment(`${meaning}.`),
      cgroup
        ? `FACT(${number}, ${name}, ${count}, "${cgroup}")`
        : `KEY(${number}, ${name}, INT, ENDED, ${count}, 0, UNLIMITED)`,
    ];
  });
  return rows.flat().join("\n");
}

/** A bound as launcher/protocol.def writes it, for example 64 * GiB for a limit in bytes. */
function bound(name: string, value: number): string {
  if (value === NO_BOUND) return "UNLIMITED";
  const [unit, bytes] = UNITS.find(([, size]) => name.endsWith("_BYTES") && value > 0 && value % size === 0) ?? [];
  return bytes === undefined ? `${value}` : `${value / bytes} * ${unit}`;
}

/** setup/ceilings. */
export function ceilings(): string {
  const head =
    "# Generated from LIMIT_ENTRIES in src/sandbox/step.ts: npm run generate.\n" +
    "# Maximum values that the launcher enforces even for a compromised service. Each line has a key of launcher/protocol.def and its\n" +
    "# maximum, which must be at least as high as every value of that limit in languages/. A test checks this. If an operator sets the\n" +
    "# third column in ASSAY_CEILINGS, the maximum is at least that value times the fourth column plus the fifth (setup/instance.sh).\n";
  const rows = LIMIT_ENTRIES.flatMap(({ name, ceiling, raisedBy: by }) =>
    ceiling === undefined ? [] : [`${name} ${ceiling}${by ? ` ${by.field} ${by.factor} ${by.offset}` : ""}\n`],
  );
  return head + rows.join("");
}
/** The frames of launcher/protocol.def as TypeScript. */
export function frames(): string {
  const rows = [...DEFINITION.matchAll(/^FRAME\((\d+), (\w+),/gm)].map(([, number, name]) => `  ${name}: ${number},`);
  return ["export const FRAMES = {", ...rows, "} as const;"].join("\n");
}

/** The keys of launcher/protocol.def as TypeScript. */
export function keys(): string {
  const measured = new Set(MEASURED_ROWS.map(({ key }) => key.name));
  const found = [...DEFINITION.matchAll(/^KEY\((\d+), (\w+), (INT|BYTES), (\w+), (ONE|OPT|MANY),/gm)];
  const rows = found
    .filter(([, , name = ""]) => !measured.has(name))
    .map(
      ([, number, name, type = "", frame, count = ""]) =>
        `  ${name}: ${type.toLowerCase()}(${number}, "${frame}"${COUNTS[count]}),`,
    );
  const facts = MEASURED_ROWS.map(
    ({ key, isOptional }) => `  ${key.name}: int(${key.number}, "ENDED"${isOptional ? COUNTS.OPT : ""}),`,
  );
  const limits = LIMIT_ENTRIES.map(({ name, key }) => `  ${name}: int(${key.number}, "STEP"),`);
  return ["export const KEYS = {", ...rows, ...limits, ...facts, "} as const satisfies Record<string, FrameKey>;"].join(
    "\n",
  );
}

/** The controls of launcher/controls.def as TypeScript. */
export function controls(): string {
  const rows = [...CONTROLS.matchAll(/^CONTROL\((\w+)\)$/gm)].map(([, name]) => `  "${name}",`);
  return ["export const CONTROLS = [", ...rows, "] as const;"].join("\n");
}
