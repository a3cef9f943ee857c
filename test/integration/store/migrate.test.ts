import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, type TestContext, test } from "node:test";
import { sql } from "kysely";
import type { DatabaseLocation } from "../../../src/domain/database.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { StoreError } from "../../../src/store/database/errors.ts";
import { openDatabase, openStore } from "../../../src/store/open.ts";
import { migrateTo, NEWEST } from "../../../src/store/schema/migrate.ts";
import { emptyDatabase } from "../../support/store/temporary.ts";
import { notAdditive } from "./additive.ts";
import { schemaText } from "./schema-text.ts";

/** The engine below the store, for statements that the store does not offer. */
async function below(t: TestContext, database: DatabaseLocation): Promise<Database> {
  const engine = await openDatabase(database);
  t.after(() => engine.db.destroy());
  return engine;
}

for (const kind of ["sqlite", "postgres"] as const) {
  describe(`on ${kind}`, () => {
    test("processes that start concurrently create one schema, and each finds it complete", async (t) => {
      const database = await emptyDatabase(t, kind);
      const script = new URL("./first-opener.ts", import.meta.url).pathname;
      const ended = Array.from({ length: 5 }, async (_, at) => {
        const args = [script, JSON.stringify(database), `key ${at}`];
        return (await once(spawn(process.execPath, args, { stdio: "inherit" }), "exit"))[0];
      });
      assert.deepEqual(await Promise.all(ended), [0, 0, 0, 0, 0]);
      const { db } = await below(t, database);
      assert.equal((await db.selectFrom("api_keys").select("id").execute()).length, 5);
      assert.equal((await sql`select version from schema_version`.execute(db)).rows.length, 1);
    });

    test("a newer schema is rejected with a message and not changed", async (t) => {
      const database = await emptyDatabase(t, kind);
      await (await openStore({ database })).close();
      const engine = await below(t, database);
      await sql`update schema_version set version = 999`.execute(engine.db);
      const before = await schemaText(engine);
      await assert.rejects(
        openStore({ database }),
        (error) => error instanceof StoreError && /schema version 999, but .* run a newer release/.test(error.message),
      );
      assert.equal(await schemaText(engine), before);
      assert.deepEqual((await sql`select version from schema_version`.execute(engine.db)).rows, [{ version: 999 }]);
    });

    test("a failed migration leaves no changes", async (t) => {
      const database = await emptyDatabase(t, kind);
      const engine = await below(t, database);
      // Conflicts with the last table that migrations create.
      await sql`create table live_output (x integer)`.execute(engine.db);
      await assert.rejects(openStore({ database }), /live_output/);
      assert.doesNotMatch(await schemaText(engine), /submissions|schema_version/);
      await sql`drop table live_output`.execute(engine.db);
      await (await openStore({ database })).close();
    });

    test("each migration only adds, so that the previous release can run alongside it", async (t) => {
      const engine = await below(t, await emptyDatabase(t, kind));
      const { db, abilities } = engine;
      let before = "";
      for (let version = 1; version <= NEWEST; version++) {
        await db.transaction().execute((trx) => migrateTo(trx, abilities, version));
        const after = await schemaText(engine);
        assert.notEqual(after, before);
        assert.deepEqual(notAdditive(before, after), [], `migration ${version}`);
        before = after;
      }
      for (const change of [
        "alter table submissions drop column verdict",
        "alter table submissions rename column verdict to judged",
        "create unique index one_each on submissions (key_id)",
        ...(kind === "postgres"
          ? ["alter table submissions alter verdict set not null", "alter table quota add constraint few check (n < 9)"]
          : []),
      ]) {
        const broken = new Error("undone");
        await assert.rejects(
          db.transaction().execute(async (trx) => {
            await sql.raw(change).execute(trx);
            assert.notDeepEqual(notAdditive(before, await schemaText({ db: trx, abilities })), [], change);
            throw broken;
          }),
          broken,
        );
      }
    });

    test("submissions of the previous release that take input still do after the migration", async (t) => {
      const { db, abilities } = await below(t, await emptyDatabase(t, kind));
      const migrated = (version: number) => db.transaction().execute((trx) => migrateTo(trx, abilities, version));
      await migrated(22);
      await sql`insert into accounts (id, name, tier, created_at) values ('a', 'a', 'beta', 1)`.execute(db);
      await sql`insert into api_keys (id, account_id, name, prefix, hash, profiles, default_profile, created_at)
        values ('k', 'a', 'k', 'p', 'h', '["judge"]', 'judge', 1)`.execute(db);
      for (const live of [null, 1, 2])
        await sql`insert into submissions (id, account_id, key_id, language, profile, status, attempts, fence, created_at, live)
          values (${`s ${live}`}, 'a', 'k', 'python', 'judge', 'pending', 0, 0, 1, ${live})`.execute(db);
      await migrated(23);
      const { rows } = await sql`select id, live, takes_input from submissions order by seq`.execute(db);
      assert.deepEqual(rows, [
        { id: "s null", live: null, takes_input: null },
        { id: "s 1", live: 1, takes_input: null },
        { id: "s 2", live: 2, takes_input: 1 },
      ]);
    });

    test(`the schema is the one in src/store/schema/schema.${kind}.sql`, async (t) => {
      const database = await emptyDatabase(t, kind);
      await (await openStore({ database })).close();
      const seen = await schemaText(await below(t, database));
      const path = new URL(`../../../src/store/schema/schema.${kind}.sql`, import.meta.url);
      // After a new migration, set ASSAY_TEST_WRITE_SCHEMA=yes and review the difference before you commit it.
      if (process.env.ASSAY_TEST_WRITE_SCHEMA === "yes") writeFileSync(path, seen);
      assert.equal(seen, readFileSync(path, "utf8"));
    });
  });
}
