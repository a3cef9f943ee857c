import { type Html, html, prose } from "./html.ts";

/** The part of JSON Schema that the schemas of the API use. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly maxLength?: number;
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
  readonly $ref?: string;
}

/** Describes a type, for example `string (uuid) or null` or `array of string`. */
export function typeOf(schema: JsonSchema): string {
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" or ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.type === "array" && schema.items) return `array of ${typeOf(schema.items)}`;
  return `${[schema.type ?? "any"].flat().join(" or ")}${schema.format ? ` (${schema.format})` : ""}`;
}

/** The list of an object's fields. The fields of a nested object are in a list below its name. */
export function fieldList(schema: JsonSchema): Html {
  const object = [schema, schema.items ?? {}, ...(schema.anyOf ?? [])].find(({ properties }) => properties);
  if (!object?.properties) return html`<p class="type">${typeOf(schema)}</p>`;
  const fields = Object.entries(object.properties).map(
    ([name, field]) => html`<li><code class="name">${name}</code> ${typeLabel(field)}
      ${object.required?.includes(name) ? "" : html`<span class="optional">optional</span>`}
      ${field.description === undefined ? "" : html`<span class="note">${prose(field.description)}</span>`}
      ${isNested(field) ? fieldList(field) : ""}</li>`,
  );
  return html`<ul class="fields">${fields}</ul>`;
}

function isNested(schema: JsonSchema): boolean {
  return [schema, schema.items ?? {}, ...(schema.anyOf ?? [])].some(({ properties }) => properties);
}

function typeLabel(schema: JsonSchema): Html {
  return html`<span class="type">${typeOf(schema)}</span>`;
}
