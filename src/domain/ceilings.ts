import {
  LIMIT_FIELD_NAMES,
  LIMIT_FIELDS,
  LIMITS,
  type LimitField,
  type LimitRow,
  type RequestedLimits,
} from "./limits.ts";

/** The highest limits that problems can state, as far as the operator has changed them. */
export interface Ceilings {
  readonly compile: RequestedLimits;
  readonly execute: RequestedLimits;
  /** The most bytes of the source of a program that is judged. */
  readonly sourceBytes: number;
}

export const DEFAULT_SOURCE_BYTES = 262_144;
/** The files of a program have at most 1 MiB together. */
const MAX_SOURCE_BYTES = 1_048_576;
export const NO_CEILINGS: Ceilings = { compile: {}, execute: {}, sourceBytes: DEFAULT_SOURCE_BYTES };

/** A checker gets the output in one message with the input, the answer and its own compiled files, which have up to 40 MiB. */
export const MAX_OUTPUT_BYTES = 24 * 1_048_576;

const SOURCE = "source_bytes";
const COMPILE = "compile_";

/** The names that the text can have. */
export const CEILING_NAMES: readonly string[] = [
  ...LIMIT_FIELD_NAMES,
  ...LIMIT_FIELD_NAMES.map((field) => `${COMPILE}${field}`),
  SOURCE,
];

/**
 * Reads ceilings: `NAME=VALUE`, separated by commas. The names are those of the limits of a request, `compile_` and such a name, and
 * `source_bytes`. @returns a text that says what is wrong, if the ceilings cannot be read.
 */
export function parseCeilings(text: string): Ceilings | string {
  const compile: { [F in LimitField]?: number } = {};
  const execute: { [F in LimitField]?: number } = {};
  let sourceBytes = DEFAULT_SOURCE_BYTES;
  const known = new Set<string>();
  for (const item of text.split(",").map((one) => one.trim())) {
    if (item === "") continue;
    const found = /^([a-z_]+)=(\d{1,12})$/.exec(item);
    if (!found) return `must be NAME=VALUE, separated by commas, got '${item.slice(0, 60)}'`;
    const [, name = "", digits = ""] = found;
    const value = Number(digits);
    if (!CEILING_NAMES.includes(name)) return `${name} is none of ${CEILING_NAMES.join(", ")}`;
    if (known.has(name)) return `${name} is given twice`;
    known.add(name);
    if (name === SOURCE) {
      if (!Number.isInteger(value) || value < 1 || value > MAX_SOURCE_BYTES)
        return `${name} must be a whole number from 1 to ${MAX_SOURCE_BYTES}`;
      sourceBytes = value;
      continue;
    }
    const field = name.replace(COMPILE, "") as LimitField;
    const { limit, scale, least } = LIMIT_FIELDS[field];
    const { key }: LimitRow = LIMITS[limit];
    const most = (limit === "stdoutBytes" ? MAX_OUTPUT_BYTES : key.largest) / scale;
    if (value < least || value > most) return `${name} must be from ${least} to ${most}`;
    (name.startsWith(COMPILE) ? compile : execute)[field] = value;
  }
  return { compile, execute, sourceBytes };
}
