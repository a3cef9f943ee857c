import { readdirSync, readFileSync } from "node:fs";
import { comment } from "./comment.ts";

const SCHEMA = new URL("../../src/store/schema/", import.meta.url);
const MIGRATIONS = readdirSync(new URL("migrations/", SCHEMA))
  .filter((file) => file.endsWith(".ts"))
  .sort();

/** The types of PostgreSQL that the schema uses, as the program sees their values. */
const TYPES: Readonly<Record<string, string>> = {
  bigint: "number",
  bytea: "Buffer",
  "double precision": "number",
  integer: "number",
  text: "string",
};

interface Column {
  readonly name: string;
  readonly type: string;
  /** Whether the database numbers the rows in this column. */
  readonly isIdentity: boolean;
}

/** Columns and the name that they have in a view. */
interface View {
  readonly name: string;
  readonly columns: readonly Column[];
}

interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
  /** The columns of the primary key. */
  readonly key: readonly string[];
  readonly references: readonly { readonly column: string; readonly table: string }[];
}

/** The statements that make the schema on PostgreSQL. */
const TEXT = readFileSync(new URL("schema.postgres.sql", SCHEMA), "utf8");

/** The tables of src/store/schema/schema.postgres.sql, except for the version of the schema. */
function tables(): Table[] {
  const found = [...TEXT.matchAll(/^create table (\w+) \(\n([\s\S]*?)\n\);$/gm)].map(([, name = "", body = ""]) => {
    const lines = body.split(",\n").map((line) => line.trim());
    return {
      name,
      columns: lines.filter((line) => !line.startsWith("constraint ")).map(toColumn),
      key: /PRIMARY KEY \(([^)]*)\)/.exec(body)?.[1]?.split(", ") ?? [],
      references: [...body.matchAll(/FOREIGN KEY \((\w+)\) REFERENCES (\w+)\(/g)].map(
        ([, column = "", table = ""]) => ({
          column,
          table,
        }),
      ),
    };
  });
  return found.filter(({ name }) => name !== "schema_version");
}

/** The views, each of which selects columns of one table, possibly under other names. */
function views(all: readonly Table[]): View[] {
  return [...TEXT.matchAll(/^create view (\w+) as select ([^;]*?) from (\w+);$/gm)].map(
    ([, name = "", list = "", base = ""]) => {
      const columns = list.split(", ").map((one) => {
        const [from = "", as = from] = one.split(" as ");
        const column = all.find((table) => table.name === base)?.columns.find((known) => known.name === from);
        if (!column) throw new Error(`schema.postgres.sql: the view ${name} has the unknown column ${from}`);
        return { ...column, name: as };
      });
      return { name, columns };
    },
  );
}

function toColumn(line: string): Column {
  const [, name = "", type = "", required, rest = ""] =
    /^(\w+) (double precision|\w+)( not null)?(.*)$/.exec(line) ?? [];
  const value = TYPES[type];
  if (value === undefined) throw new Error(`schema.postgres.sql: no type of TypeScript is known for "${line}"`);
  const isIdentity = rest.includes("generated always as identity");
  const plain = required ? value : `${value} | null`;
  return { name, type: isIdentity || rest.includes(" default ") ? `Generated<${plain}>` : plain, isIdentity };
}

/**
 * What the migrations say of tables, views and columns, by names such as "submissions" and "submissions.seq": the comment directly before
 * `createTable`, `addColumn` or `create view`.
 */
function descriptions(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const file of MIGRATIONS) {
    let table = "";
    let pending: string[] = [];
    for (const line of readFileSync(new URL(`migrations/${file}`, SCHEMA), "utf8").split("\n")) {
      const [, said] = /^\s*\/\/ (.*)$/.exec(line) ?? [];
      if (said !== undefined) {
        pending.push(said);
        continue;
      }
      const created = /(?:\.createTable\("|create view )(\w+)/.exec(line)?.[1];
      table = created ?? /(?:\.alterTable\("|alter table )(\w+)/.exec(line)?.[1] ?? table;
      const column = /(?:\.addColumn\("|add column )(\w+)/.exec(line)?.[1];
      const subject = column ? `${table}.${column}` : created;
      if (subject && pending.length > 0) found.set(subject, pending.join(" "));
      pending = [];
    }
  }
  return found;
}

/** The tables, each after those that it references, as a restore needs them. */
function byReference(all: readonly Table[]): Table[] {
  const ordered = new Set<Table>();
  const add = (table: Table) => {
    for (const reference of table.references) {
      const other = all.find(({ name }) => name === reference.table);
      if (other && other !== table) add(other);
    }
    ordered.add(table);
  };
  for (const table of all) add(table);
  return [...ordered];
}

/** src/store/database/schema.ts. */
export function schemaTypes(): string {
  const all = tables();
  const said = descriptions();
  const described = (subject: string, indent: string) => {
    const text = said.get(subject);
    return text === undefined ? [] : comment(text, { open: "/**", indent });
  };
  const types = [...all, ...views(all)].flatMap(({ name, columns }) => [
    ...described(name, "  "),
    `  ${name}: {`,
    ...columns.flatMap((column) => [
      ...described(`${name}.${column.name}`, "    "),
      `    ${column.name}: ${column.type};`,
    ]),
    "  };",
  ]);
  const shapes = byReference(all).map(({ name, key, columns, references }) => {
    const identity = columns.find(({ isIdentity }) => isIdentity)?.name;
    const itself = references.find(({ table }) => table === name)?.column;
    const list = key.map((column) => `"${column}"`).join(", ");
    const more = [
      ...(identity ? [`identity: "${identity}"`] : []),
      ...(itself ? [`refersToItself: "${itself}"`] : []),
      ...(said.get(name)?.includes("A row can have several MiB.") ? ["isLarge: true"] : []),
    ];
    return `  { name: "${name}", key: [${list}]${more.map((one) => `, ${one}`).join("")} },`;
  });
  return `// Generated from src/store/schema/schema.postgres.sql and the comments of its migrations: npm run generate.
import type { Generated, Selectable } from "kysely";

/**
 * The tables and views, and their columns. Times are milliseconds since the epoch. Programs, input and output are bytes, because
 * PostgreSQL's text type rejects U+0000.
 */
export interface Schema {
${types.join("\n")}
}

/** A row of a table. */
export type Row<Table extends keyof Schema> = Selectable<Schema[Table]>;

export interface TableShape {
  readonly name: keyof Schema;
  /** The columns of its primary key. */
  readonly key: readonly string[];
  /** The column in which the database numbers the rows. */
  readonly identity?: string;
  /** A column that references other rows of the table. */
  readonly refersToItself?: string;
  /** Whether a row can have several MiB, so that fewer rows are read at once. */
  readonly isLarge?: true;
}

/** All tables, each after those that it references. */
export const TABLES: readonly TableShape[] = [
${shapes.join("\n")}
];
`;
}

/** src/store/schema/migrations.ts. */
export function migrationList(): string {
  const imports = MIGRATIONS.map((file) => `import { ${functionOf(file)} } from "./migrations/${file}";`);
  const rows = MIGRATIONS.map((file) => `  ${functionOf(file)},`);
  return `// Generated from migrations/: npm run generate.
import type { Transaction } from "kysely";
import type { Abilities } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
${imports.join("\n")}

export type Migration = (trx: Transaction<Schema>, abilities: Abilities) => Promise<void>;

/** All migrations in order; the version of a schema is the number of its migrations. Released migrations never change. */
export const MIGRATIONS: readonly Migration[] = [
${rows.join("\n")}
];
`;
}

/** The name of the function that a migration exports: accountsAndSubmissions in 0001-accounts-and-submissions.ts. */
function functionOf(file: string): string {
  return file.replace(/^\d{4}-(.*)\.ts$/, "$1").replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
