import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A migration that the next release could have: it only adds to tables in use. */
const NEXT = `import { sql, type Transaction } from "kysely";
import type { Schema } from "../../database/schema.ts";

export async function next(trx: Transaction<Schema>): Promise<void> {
  await sql\`alter table submissions add column note text\`.execute(trx);
  await sql\`alter table api_keys add column notes integer not null default 0\`.execute(trx);
  await sql\`create index submissions_note on submissions (note)\`.execute(trx);
  await sql\`create table notes (id text primary key references submissions (id) on delete cascade)\`.execute(trx);
}
`;

/** Turns a checkout into the next release, with one more migration. */
export function makeNext(checkout: string): void {
  const store = join(checkout, "src/store/schema");
  writeFileSync(join(store, "migrations/next.ts"), NEXT);
  const path = join(store, "migrations.ts");
  const list = /(const MIGRATIONS: readonly Migration\[\] = \[[^\]]*?),?\s*\]/;
  const text = readFileSync(path, "utf8");
  assert.match(text, list);
  writeFileSync(path, `import { next } from "./migrations/next.ts";\n${text.replace(list, "$1, next]")}`);
}
