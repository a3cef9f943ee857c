import { ROUTES } from "../../src/http/api/routes.ts";
import { openApi, parametersOf } from "../../src/http/openapi/openapi.ts";

/** The subset of JSON Schema that the components of /openapi.json use. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly const?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly propertyNames?: Schema;
  readonly additionalProperties?: boolean | Schema;
}

/** Names of schemas that the languages of the clients use for something else, with the names that replace them. */
const RENAMED: Readonly<Record<string, string>> = { Record: "SubmissionRecord", Error: "ErrorBody" };

/** The schemas of the official clients, without nested objects: the components of /openapi.json, and the query of each list. */
export function clientSchemas(): [name: string, schema: Schema][] {
  const { components } = openApi();
  const given = [...Object.entries(components.schemas as Record<string, Schema>), ...queries()];
  return given.flatMap(([name, schema]) => flat(nameOf(name), schema)).sort(([one], [other]) => (one < other ? -1 : 1));
}

/** The name of the type that a reference points to. */
export function target(reference: string): string {
  return nameOf(reference.slice(reference.lastIndexOf("/") + 1));
}

const nameOf = (name: string) => RENAMED[name] ?? name;
const pascal = (name: string) => name.replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());

function queries(): [string, Schema][] {
  return ROUTES.flatMap(({ id, parameters }) => {
    const properties = parametersOf(parameters)
      .filter((parameter) => parameter.in === "query" && parameter.name !== "wait")
      .map(({ name, description, schema }) => [name, { ...schema, description }] as const);
    if (properties.length === 0) return [];
    const query = { type: "object", properties: Object.fromEntries(properties), additionalProperties: false };
    return [[`${pascal(id)}Query`, query]];
  });
}

/** A schema, and each object in it as a schema of its own, named by its place. */
function flat(name: string, schema: Schema): [string, Schema][] {
  const found: [string, Schema][] = [];
  const take = (at: string, inner: Schema): Schema => {
    if (inner.properties) {
      found.push(...flat(at, inner));
      return { $ref: at };
    }
    return {
      ...inner,
      ...(inner.anyOf && { anyOf: inner.anyOf.map((one) => take(at, one)) }),
      ...(inner.items && { items: take(at, inner.items) }),
    };
  };
  const { properties } = schema;
  if (!properties) return [[name, take(`${name}Item`, schema)], ...found];
  const fields = Object.entries(properties).map(([field, inner]) => [field, take(name + pascal(field), inner)]);
  return [[name, { ...schema, properties: Object.fromEntries(fields) }], ...found];
}
