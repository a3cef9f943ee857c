import { z } from "zod";

/**
 * The schemas that have a name in /openapi.json, so that generated clients get a type for each. They are declared next to the endpoint or
 * the module that uses them.
 */
const names = z.registry<{ id: string }>();

/** Gives a schema its name. A copy of the schema, for example with another description, has none. @returns the same schema. */
export function named<Schema extends z.ZodType>(id: string, schema: Schema): Schema {
  names.add(schema, { id });
  return schema;
}

/** @throws if the schema has no name: a programming error. */
export function nameOf(schema: z.ZodType): string {
  const { id } = names.get(schema) ?? {};
  if (id === undefined) throw new Error("a body of the API has no name: use named()");
  return id;
}

/** All named schemas as JSON Schema 2020-12, with references to each other, for the components of /openapi.json. */
export function componentSchemas(): Record<string, Record<string, unknown>> {
  const uri = (id: string) => `#/components/schemas/${id}`;
  const { schemas } = z.toJSONSchema(names, { target: "draft-2020-12", uri });
  return Object.fromEntries(Object.entries(schemas).map(([name, { $schema, $id, ...json }]) => [name, json]));
}
