import { ERRORS, type ErrorCode } from "../../src/domain/error.ts";
import { EXAMPLES } from "../../src/http/examples.ts";
import { ANYWHERE, ELSEWHERE, OPERATIONS } from "../../src/http/operations.ts";
import { jsonSchemas, type SchemaName } from "../../src/http/schemas.ts";
import { code, table } from "./table.ts";

interface Schema {
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** Endpoints and their parameters, from the list that also makes /openapi.json. */
export function endpoints(): string {
  return OPERATIONS.map(({ method, path, summary, description, parameters, answers }) =>
    [
      `**${code(`${method.toUpperCase()} ${path}`)}**: ${summary}. ${description}\n`,
      ...parameters.map(({ name, in: place, description }) => `- ${place} ${code(name)}: ${description}`),
      ...answers.map(({ status, description, schemas, location }) => {
        return `- ${status} ${schemas.map(bodyOf).join(" or ")}${location ? ", with `Location`" : ""}: ${description}`;
      }),
    ].join("\n"),
  ).join("\n\n");
}

/** A schema by its name, with the fields of a small one. The record has a table. */
function bodyOf(name: SchemaName): string {
  const names = Object.keys((jsonSchemas()[name] as Schema).properties ?? {});
  return name === "Record" || names.length === 0 ? code(name) : code(`{${names.join(", ")}}`);
}

/** The fields of a body, nested ones by their path. */
export function fields(name: "SubmitRequest" | "Record"): string {
  return table(["field", "type", "meaning"], rowsOf(jsonSchemas()[name] as Schema, ""));
}

function rowsOf(schema: Schema, prefix: string): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, given]) => {
    const options = given.anyOf ?? [given];
    const inner = options.find(({ type }) => type !== "null") ?? given;
    const nullable = options.some(({ type }) => type === "null") ? " or null" : "";
    const optional = schema.required?.includes(name) ? "" : ", optional";
    const path = `${prefix}${name}`;
    const nested = Object.keys(inner.properties ?? {});
    const isRlimit = nested.join() === "soft,hard";
    const row = [code(path), `${typeOf(inner)}${nullable}${optional}`, given.description ?? inner.description ?? ""];
    return [row, ...(isRlimit ? [] : rowsOf(inner, `${path}.`))];
  });
}

function typeOf({ type, enum: values, const: only, format, items, properties }: Schema): string {
  if (only !== undefined) return code(only);
  if (values !== undefined) return values.map(code).join(", ");
  if (type === "array") return `array of ${typeOf(items ?? {})}`;
  if (properties?.soft || properties?.details) return `{${Object.keys(properties).join(", ")}}`;
  return format ?? [type].flat().join(" or ");
}

/** Every error of the API, by status, as an example of its text, and the operations that can answer it. */
export function errors(): string {
  const operations = (name: ErrorCode) => {
    if (ANYWHERE.includes(name)) return "every request";
    if (ELSEWHERE.includes(name)) return "other paths";
    return OPERATIONS.filter(({ errors }) => errors.includes(name))
      .map(({ id }) => id)
      .join(", ");
  };
  const rows = (Object.keys(ERRORS) as ErrorCode[])
    .map((name) => ({ name, status: ERRORS[name].status, where: operations(name) }))
    .filter(({ where }) => where !== "")
    .sort((a, b) => a.status - b.status)
    .map(({ name, status, where }) => [String(status), code(name), EXAMPLES[name].body.error, where]);
  return table(["status", "name", "`error`, for example", "answered by"], rows);
}
