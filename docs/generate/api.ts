import { ERRORS, type ErrorCode } from "../../src/domain/error.ts";
import { EXAMPLES } from "../../src/http/openapi/examples.ts";
import { COMMON_ERRORS, OPERATIONS, OUTSIDE_ERRORS } from "../../src/http/openapi/operations.ts";
import { jsonSchemas, type SchemaName } from "../../src/http/openapi/schemas.ts";
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

const PARAMETERS = { path: "Path parameter", query: "Query parameter", header: "Header" } as const;

/** Endpoints and their parameters, from the list that also makes /openapi.json. */
export function endpoints(): string {
  return OPERATIONS.map(({ method, path, summary, description, parameters, answers }) =>
    [
      `### ${summary}\n\n${code(`${method.toUpperCase()} ${path}`)}\n\n${description}\n`,
      ...parameters.map(
        ({ name, in: place, description }) => `- ${PARAMETERS[place]} ${code(name)}: ${sentence(description)}`,
      ),
      ...answers.map(({ status, description, schemas, media, location }) => {
        const body = media ? code(media) : schemas.map(bodyOf).join(" or ");
        return `- Response ${status}, ${body}${location ? ", with the header `Location`" : ""}: ${sentence(description)}`;
      }),
    ].join("\n"),
  ).join("\n\n");
}

const sentence = (text: string) => (text.endsWith(".") ? text : `${text}.`);

/**
 * The fields of a body, as `{a, b}`. For the record, which has a part of its own, and for a body without fields, this is the name
 * of the schema.
 */
function bodyOf(name: SchemaName): string {
  const names = Object.keys((jsonSchemas()[name] as Schema).properties ?? {});
  return name === "Record" || names.length === 0 ? code(name) : code(`{${names.join(", ")}}`);
}

/** The fields of the body of a submission. */
export function submitFields(): string {
  const { properties, required } = jsonSchemas().SubmitRequest as Schema;
  const rows = Object.entries(properties ?? {}).map(([name, schema]) => {
    const optional = required?.includes(name) ? "" : ", optional";
    return [code(name), `${typeOf(schema).map(code).join(", ")}${optional}`, schema.description ?? ""];
  });
  return table(["field", "type", "meaning"], rows);
}

/** The record as a tree. Causes are explained in docs/verdicts.md. */
export function recordFields(): string {
  return ["```text", ...tree(jsonSchemas().Record as Schema, "", new Set()), "```"].join("\n");
}

/** @param notes the notes of the fields above, which are not repeated; those of this schema are added. */
function tree(schema: Schema, indent: string, notes: Set<string>): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, given]) => {
    const options = given.anyOf ?? [given];
    const inner = options.find(({ type }) => type !== "null") ?? given;
    const isGroup = inner.type === "object" && inner.properties?.soft === undefined;
    const isNullable = options.some(({ type }) => type === "null");
    const types = isGroup ? (isNullable ? ["object"] : []) : name === "cause" ? ["string"] : typeOf(inner);
    const type = [...types, ...(isNullable ? ["null"] : [])].join(" | ");
    const optional = schema.required?.includes(name) ? "" : "?";
    const description = given.description ?? inner.description ?? "";
    const note = notes.has(description) ? "" : description;
    notes.add(description);
    const line = `${indent}${name}${optional}${type && `: ${type}`}${note ? `  # ${note}` : ""}`;
    return [line, ...(isGroup ? tree(inner, `${indent}  `, notes) : [])];
  });
}

function typeOf({ type, enum: values, const: only, format, items, properties }: Schema): readonly string[] {
  if (only !== undefined) return [only];
  if (values !== undefined) return values;
  if (type === "array") return [`array of ${typeOf(items ?? {}).join(" | ")}`];
  if (properties) return [`{${Object.keys(properties).join(", ")}}`];
  return [format ?? [type].flat().join(" | ")];
}

/** Every error of the API by status, with an example of its text. /openapi.json says which operations return an error. */
export function errors(): string {
  const returned = new Set([...COMMON_ERRORS, ...OUTSIDE_ERRORS, ...OPERATIONS.flatMap(({ errors }) => errors)]);
  const rows = (Object.keys(ERRORS) as ErrorCode[])
    .filter((name) => returned.has(name))
    .sort((one, other) => ERRORS[one].status - ERRORS[other].status)
    .map((name) => [String(ERRORS[name].status), code(name), EXAMPLES[name].body.error]);
  return table(["status", "name", "`error`, for example"], rows);
}
