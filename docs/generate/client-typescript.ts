import { compile, type JSONSchema } from "json-schema-to-typescript";
import { clientSchemas, type Schema, target } from "./client-schemas.ts";

const OPTIONS = {
  additionalProperties: false,
  bannerComment: "",
  ignoreMinAndMaxItems: true,
  style: { printWidth: 120 },
};

/** The types of client/typescript. */
export async function typescriptTypes(): Promise<string> {
  const types = await Promise.all(clientSchemas().map(([name, schema]) => compile(referring(schema), name, OPTIONS)));
  return `// Generated from /openapi.json: npm run generate.\n${types.map((type) => `\n${type}`).join("")}`;
}

/**
 * A schema with the names of types in place of references, so that each type can be compiled alone. Schemas for the names of
 * fields (`propertyNames`) are left out.
 */
function referring({
  $ref,
  anyOf,
  items,
  properties,
  propertyNames,
  additionalProperties,
  ...schema
}: Schema): JSONSchema {
  return {
    ...(schema as JSONSchema),
    ...($ref && { tsType: target($ref) }),
    ...(anyOf && { anyOf: anyOf.map(referring) }),
    ...(items && { items: referring(items) }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, referring(field)])),
    }),
    ...(additionalProperties !== undefined && {
      additionalProperties:
        typeof additionalProperties === "object" ? referring(additionalProperties) : additionalProperties,
    }),
  };
}
