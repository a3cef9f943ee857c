import { clientSchemas, type Schema, target } from "./client-schemas.ts";

const HEAD = `"""The bodies of the API. Generated from /openapi.json: npm run generate."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict
`;

const PLAIN: Readonly<Record<string, string>> = {
  string: "str",
  integer: "int",
  number: "float",
  boolean: "bool",
  null: "None",
};

/**
 * The types of client/python. They are made by code of our own, because the generators on npm make classes that copy and check
 * each value, and not types of the JSON as it is.
 */
export function pythonTypes(): string {
  const schemas = clientSchemas();
  const isObject = ([, { properties }]: [string, Schema]) => properties !== undefined;
  const objects = schemas.filter(isObject).map(([name, schema]) => typedDict(name, schema));
  // Unlike the type of a field, an alias is evaluated when the module is loaded. It is a text, so that it may refer to later classes.
  const aliases = schemas
    .filter((named) => !isObject(named))
    .map(([name, schema]) => `${notes(schema, "")}${name}: TypeAlias = ${JSON.stringify(typeOf(schema, "'"))}\n`);
  return [HEAD, ...aliases, ...objects.map((object) => `\n${object}`)].join("\n");
}

/** Keywords of Python that a field of the API has as its name. Such a class can only be made by a call. */
const KEYWORDS: readonly string[] = ["from"];

function typedDict(name: string, schema: Schema): string {
  const { properties = {}, required = [], description } = schema;
  if (Object.keys(properties).some((field) => KEYWORDS.includes(field))) return calledDict(name, schema);
  const fields = Object.entries(properties).map(([field, schema]) => {
    const type = required.includes(field) ? typeOf(schema) : `NotRequired[${typeOf(schema)}]`;
    return `${notes(schema, "    ")}    ${field}: ${type}\n`;
  });
  const says = description === undefined ? "" : `    """${description}."""\n\n`;
  return `class ${name}(TypedDict):\n${says}${fields.join("")}`;
}

/** The types are texts, as in aliases. */
function calledDict(name: string, schema: Schema): string {
  const { properties = {}, required = [] } = schema;
  const fields = Object.entries(properties).map(([field, of]) => {
    const type = typeOf(of, "'");
    const text = required.includes(field) ? type : `NotRequired[${type}]`;
    return `${notes(of, "        ")}        "${field}": ${JSON.stringify(text)},\n`;
  });
  return `${notes(schema, "")}${name} = TypedDict(\n    "${name}",\n    {\n${fields.join("")}    },\n)\n`;
}

function notes({ description }: Schema, indent: string): string {
  return description === undefined ? "" : `${indent}# ${description}\n`;
}

/** @param quote the quotation mark of literals. */
function typeOf(schema: Schema, quote = '"'): string {
  const { $ref, const: only, enum: values, anyOf, type = "", items, propertyNames, additionalProperties } = schema;
  const literal = (texts: readonly string[]) => `Literal[${texts.map((text) => quote + text + quote).join(", ")}]`;
  if ($ref !== undefined) return target($ref);
  if (only !== undefined) return literal([only]);
  if (values) return literal(values);
  if (anyOf) return anyOf.map((one) => typeOf(one, quote)).join(" | ");
  if (items) return `list[${typeOf(items, quote)}]`;
  if (typeof additionalProperties === "object")
    return `dict[${typeOf(propertyNames ?? { type: "string" }, quote)}, ${typeOf(additionalProperties, quote)}]`;
  const plain = [type].flat().map((one) => PLAIN[one]);
  if (plain.includes(undefined)) throw new Error(`no type for ${JSON.stringify(schema)}`);
  return plain.join(" | ");
}
