import { ERROR_CODES, errorExample, errorsReturned } from "../../src/domain/error.ts";
import { ROUTES } from "../../src/http/api/routes.ts";
import { nameOf } from "../../src/http/named-schemas.ts";
import { bodySchemas, EVENT_STREAM, parametersOf } from "../../src/http/openapi/openapi.ts";
import type { Success } from "../../src/http/route.ts";
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

/** Endpoints and their parameters. */
export function endpoints(): string {
  return ROUTES.map(({ method, path, summary, description, parameters, successes }) =>
    [
      `### ${summary}\n\n${code(`${method.toUpperCase()} ${path}`)}\n\n${description}\n`,
      ...parametersOf(parameters).map(
        ({ name, in: place, description }) => `- ${PARAMETERS[place]} ${code(name)}: ${sentence(description)}`,
      ),
      ...Object.entries(successes).map(([status, { description, body, media, events, location }]) => {
        const bodies = [
          ...(body ? [body].flat().map(nameOf).map(bodyOf) : []),
          ...(media ? [code(media)] : []),
          ...(events ? [streamOf(events)] : []),
        ];
        const type = bodies.join(" or ") || "no body";
        return `- Response ${status}, ${type}${location ? ", with the header `Location`" : ""}: ${sentence(description)}`;
      }),
    ].join("\n"),
  ).join("\n\n");
}

const sentence = (text: string) => (text.endsWith(".") ? text : `${text}.`);

/** A stream of events, with the data of each. */
function streamOf(events: NonNullable<Success["events"]>): string {
  const each = Object.entries(events).map(
    ([name, data]) => `${code(name)} ${data ? bodyOf(nameOf(data)) : code("{}")}`,
  );
  return `${code(EVENT_STREAM)} of ${each.join(", ")}`;
}

/**
 * The fields of a body, as `{a, b}`. For the record, which has a part of its own, and for a body without fields, this is the name
 * of the schema.
 */
function bodyOf(name: string): string {
  const names = Object.keys((bodySchemas()[name] as Schema).properties ?? {});
  return name === "Record" || names.length === 0 ? code(name) : code(`{${names.join(", ")}}`);
}

/** The fields of the body of a submission. */
export function submitFields(): string {
  const { properties, required } = bodySchemas().SubmitRequest as Schema;
  const rows = Object.entries(properties ?? {}).map(([name, schema]) => {
    const optional = required?.includes(name) ? "" : ", optional";
    return [code(name), `${typeOf(schema).map(code).join(", ")}${optional}`, schema.description ?? ""];
  });
  return table(["field", "type", "meaning"], rows);
}

/** The record as a tree. Causes are explained in docs/verdicts.md. */
export function recordFields(): string {
  return ["```text", ...tree(bodySchemas().Record as Schema, "", new Set()), "```"].join("\n");
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
    const description = firstSentence(given.description ?? inner.description ?? "");
    const note = notes.has(description) ? "" : description;
    notes.add(description);
    const line = `${indent}${name}${optional}${type && `: ${type}`}${note ? `  # ${note}` : ""}`;
    return [line, ...(isGroup ? tree(inner, `${indent}  `, notes) : [])];
  });
}

function firstSentence(text: string): string {
  return /^.*?\.(?= [A-Z`])/.exec(text)?.[0] ?? text;
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
  const returned = new Set([...errorsReturned("unknownRoute"), ...ROUTES.flatMap(({ errors }) => errors)]);
  const rows = ERROR_CODES.filter((name) => returned.has(name))
    .map((name) => [name, errorExample(name)] as const)
    .sort(([, one], [, other]) => one.status - other.status)
    .map(([name, { status, body }]) => [String(status), code(name), body.error]);
  return table(["status", "name", "`error`, for example"], rows);
}
