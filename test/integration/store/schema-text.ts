import { type Kysely, sql } from "kysely";
import type { Database } from "../../../src/store/database/database.ts";
import type { Schema } from "../../../src/store/database/schema.ts";

/** The actual schema of a database, from its catalogue, in a form that is the same for every release of the engine. */
export function schemaText({ db, abilities }: Database): Promise<string> {
  return abilities.oneWriter ? sqliteText(db) : postgresText(db);
}

/** SQLite keeps the statements; only line breaks are added. */
async function sqliteText(db: Kysely<Schema>): Promise<string> {
  const { rows } = await sql<{ sql: string }>`
    select sql from sqlite_schema where sql is not null and name not like 'sqlite_%'
    order by tbl_name, type = 'index', name`.execute(db);
  return join(rows.map((row) => breakLines(row.sql)));
}

/** Breaks lines between columns and constraints: at the commas outside of inner brackets. */
function breakLines(statement: string): string {
  if (!/^create table/i.test(statement)) return statement;
  let depth = 0;
  let text = "";
  for (const character of statement) {
    if (character === ")" && --depth === 0) text += "\n";
    text += character;
    if (character === "(" && ++depth === 1) text += "\n  ";
    if (character === "," && depth === 1) text += "\n ";
  }
  return text;
}

async function postgresText(db: Kysely<Schema>): Promise<string> {
  const columns = await sql<{ table: string; line: string }>`
    select c.relname as table, a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
      || case when a.attnotnull then ' not null' else '' end
      || case a.attidentity when 'a' then ' generated always as identity' else '' end
      || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') as line
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relkind = 'r' and c.relnamespace = current_schema::regnamespace order by c.relname, a.attnum`.execute(db);
  const constraints = await sql<{ table: string; line: string }>`
    select c.relname as table, 'constraint ' || n.conname || ' ' || pg_get_constraintdef(n.oid) as line
    from pg_constraint n join pg_class c on c.oid = n.conrelid
    where n.contype in ('p', 'u', 'f', 'c') and c.relnamespace = current_schema::regnamespace
    order by c.relname, n.contype, n.conname`.execute(db);
  const indexes = await sql<{ table: string; line: string }>`
    select c.relname as table, replace(pg_get_indexdef(i.indexrelid), current_schema || '.', '') as line
    from pg_index i join pg_class c on c.oid = i.indrelid join pg_class x on x.oid = i.indexrelid
    where c.relnamespace = current_schema::regnamespace
      and not exists (select from pg_constraint n where n.conindid = i.indexrelid)
    order by c.relname, x.relname`.execute(db);
  // The definitions of views and triggers are brought to one line, because releases of PostgreSQL break and qualify them differently.
  const views = await sql<{ name: string; body: string }>`
    select c.relname as name, pg_get_viewdef(c.oid) as body
    from pg_class c where c.relkind = 'v' and c.relnamespace = current_schema::regnamespace order by c.relname`.execute(
    db,
  );
  const functions = await sql<{ line: string }>`
    select replace(pg_get_functiondef(p.oid), current_schema || '.', '') as line
    from pg_proc p where p.pronamespace = current_schema::regnamespace order by p.proname`.execute(db);
  const triggers = await sql<{ line: string }>`
    select replace(pg_get_triggerdef(g.oid), current_schema || '.', '') as line
    from pg_trigger g join pg_class c on c.oid = g.tgrelid
    where not g.tgisinternal and c.relnamespace = current_schema::regnamespace order by c.relname, g.tgname`.execute(
    db,
  );
  const oneLine = (text: string) => text.trim().replace(/;$/, "").replaceAll(/\s+/g, " ");
  const others = [
    ...views.rows.map(({ name, body }) => `create view ${name} as ${plainSelect(oneLine(body))}`),
    ...functions.rows.map(({ line }) => line.trim()),
    ...triggers.rows.map(({ line }) => oneLine(line)),
  ];
  const tables = [...new Set(columns.rows.map(({ table }) => table))];
  return join([
    ...tables.flatMap((table) => {
      const own = (part: { rows: { table: string; line: string }[] }) =>
        part.rows.filter((row) => row.table === table).map(({ line }) => line);
      const lines = [...own(columns), ...own(constraints)].map((line) => `  ${line}`);
      return [`create table ${table} (\n${lines.join(",\n")}\n)`, ...own(indexes)];
    }),
    ...others,
  ]);
}

/** `SELECT t.a, t.b AS c FROM t` as `select a, b as c from t`. */
function plainSelect(text: string): string {
  return text.replaceAll(/\b(SELECT|AS|FROM)\b/g, (word) => word.toLowerCase()).replaceAll(/\b\w+\.(\w+)/g, "$1");
}

function join(statements: readonly string[]): string {
  return `${statements.map((statement) => `${statement};`).join("\n")}\n`;
}
