import { z } from "zod";

/**
 * A fact that JSON for clients has as a field, declared in one row: its schema, from where it is read, and what it means. The types of
 * the JSON, its schema in /openapi.json, the types of the clients, the reference and the explanations of the dashboard derive from the
 * row.
 */
export class Fact<Source = never, Schema extends z.ZodType = z.ZodType> {
  readonly schema: Schema;
  readonly read: (source: Source) => unknown;
  /** One or more sentences for readers of the JSON. */
  readonly meaning: string;

  constructor(schema: Schema, read: (source: Source) => unknown, meaning: string) {
    this.schema = schema.describe(meaning);
    this.read = read;
    this.meaning = meaning;
  }
}

/** A fact that is absent where `read` returns undefined. */
type Absent<Schema extends z.ZodType> = Schema extends z.ZodExactOptional ? undefined : never;

/** Makes the rows of facts that are read from a source of one type. */
export function factsOf<Source>() {
  return <Schema extends z.ZodType>(
    schema: Schema,
    read: (source: Source) => z.output<Schema> | Absent<Schema>,
    meaning: string,
  ): Fact<Source, Schema> => new Fact(schema, read, meaning);
}

/** Facts and groups of facts, by the names of their fields, in the order of the JSON. */
export interface Facts {
  readonly [field: string]: Fact | Facts;
}

type ShapeOf<F extends Facts> = {
  [Field in keyof F]: F[Field] extends Fact<never, infer Schema>
    ? Schema
    : F[Field] extends Facts
      ? SchemaOf<F[Field]>
      : never;
};
export type SchemaOf<F extends Facts> = z.ZodObject<ShapeOf<F>, z.core.$strict>;
export type ValuesOf<F extends Facts> = z.output<SchemaOf<F>>;

const schemas = new WeakMap<Facts, z.ZodObject>();

/** The schema of the object with these facts. The same facts always have the same schema, so that it can get a name. */
export function schemaOf<F extends Facts>(facts: F): SchemaOf<F> {
  let schema = schemas.get(facts);
  if (!schema) {
    const shape = Object.entries(facts).map(([field, fact]) => [
      field,
      fact instanceof Fact ? fact.schema : schemaOf(fact),
    ]);
    schema = z.strictObject(Object.fromEntries(shape));
    schemas.set(facts, schema);
  }
  return schema as unknown as SchemaOf<F>;
}

/** The object with these facts, without those that are absent. */
export function valuesOf<F extends Facts>(facts: F, source: unknown): ValuesOf<F> {
  const values: Record<string, unknown> = {};
  for (const [field, fact] of Object.entries(facts)) {
    const value = fact instanceof Fact ? fact.read(source as never) : valuesOf(fact, source);
    if (value !== undefined) values[field] = value;
  }
  return values as ValuesOf<F>;
}

/** Each fact that has a value, with the path of its field, such as `limits.cgroup.oom_kill_events`. */
export function* rowsOf(
  facts: Facts,
  values: object,
  path = "",
): Generator<{ field: string; value: unknown; meaning: string }> {
  for (const [name, fact] of Object.entries(facts)) {
    const value = (values as Record<string, unknown>)[name];
    if (value === undefined) continue;
    const field = path + name;
    if (fact instanceof Fact) yield { field, value, meaning: fact.meaning };
    else yield* rowsOf(fact, value as object, `${field}.`);
  }
}
