/** Parses a schema text (schema-text.ts) into the columns and constraints of each table, and the indexes. */
function parts(text: string): { tables: Map<string, string[]>; indexes: string[] } {
  const tables = new Map<string, string[]>();
  for (const [, name = "", body = ""] of text.matchAll(/^create table "?(\w+)"? \(\n([\s\S]*?)\n\);$/gim))
    tables.set(
      name,
      body.split(/,\n/).map((line) => line.trim()),
    );
  const indexes = [...text.matchAll(/^create (?:unique )?index .*$/gim)].map(([line]) => line);
  return { tables, indexes };
}

const nameOf = (line: string) => /^"?(\w+)"?/.exec(line)?.[1] ?? "";
const isConstraint = (line: string) => /^constraint /i.test(line);

/**
 * The changes of a migration that could break the previous release, which runs alongside the new one: removed or
 * changed parts of the schema, and constraints that reject rows written by the previous release.
 */
export function notAdditive(before: string, after: string): string[] {
  const [old, young] = [parts(before), parts(after)];
  const wrong: string[] = [];
  for (const [table, lines] of old.tables) {
    const now = young.tables.get(table) ?? [];
    for (const line of lines) if (!now.includes(line)) wrong.push(`${table} lost: ${line}`);
    const added = now.filter((line) => !lines.includes(line));
    const columns = added.filter((line) => !isConstraint(line));
    for (const line of columns)
      if ((/ not null/i.test(line) && !/ default /i.test(line)) || / (unique|primary key|check)\b/i.test(line))
        wrong.push(`${table} refuses rows without: ${line}`);
    const names = columns.map(nameOf);
    for (const line of added.filter(isConstraint)) {
      const of = /foreign key \(([^)]*)\)/i.exec(line)?.[1]?.split(/, */) ?? [];
      if (of.length === 0 || !of.every((name) => names.includes(name.replaceAll('"', ""))))
        wrong.push(`${table} got: ${line}`);
    }
  }
  for (const index of young.indexes)
    if (/^create unique /i.test(index) && !old.indexes.includes(index)) {
      const table = / on "?(\w+)"?/i.exec(index)?.[1] ?? "";
      if (old.tables.has(table)) wrong.push(`${table} got: ${index}`);
    }
  return wrong;
}
