import type { z } from "zod";
import { serveCommand } from "../../src/cli/serve.ts";
import { settingsSchema } from "../../src/config/settings.ts";
import { code, table } from "./table.ts";

/** Every setting with its flag, default, range and meaning. */
export function settings(): string {
  return table(["setting", "default", "meaning"], Object.entries(settingsSchema.shape).map(row));
}

function row([name, schema]: [string, z.ZodType]): string[] {
  const { description, flag, defaultText } = schema.meta() as { description: string } & Record<string, string>;
  if (flag !== undefined && !serveCommand().options.some(({ long }) => long === flag))
    throw new Error(`${name}: 'assay serve' has no option ${flag}`);
  const names = flag === undefined ? code(name) : `${code(name)} ${code(flag)}`;
  return [names, defaultText ?? standard(schema), `${description}${range(schema)}`];
}

/** The schema inside of a default, and that default; for a schema without a default, the schema itself. */
function unwrapped(schema: z.ZodType): { inner: z.ZodType; standard: unknown } {
  const { innerType, defaultValue } = schema.def as { innerType?: z.ZodType; defaultValue?: unknown };
  return innerType === undefined
    ? { inner: schema, standard: undefined }
    : { inner: innerType, standard: defaultValue };
}

function standard(schema: z.ZodType): string {
  const value = unwrapped(schema).standard;
  return value === undefined || value === "" ? "none" : code(String(value));
}

function range(schema: z.ZodType): string {
  let { inner } = unwrapped(schema);
  while ("out" in inner.def) inner = inner.def.out as z.ZodType;
  const { minValue, maxValue } = inner as { minValue?: number | null; maxValue?: number | null };
  if (typeof minValue !== "number" || typeof maxValue !== "number") return "";
  return ` Values: ${minValue.toLocaleString("en")} to ${maxValue.toLocaleString("en")}.`;
}
