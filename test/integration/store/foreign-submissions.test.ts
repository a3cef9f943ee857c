import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { within } from "../../../bench/load/database.ts";
import { decodeProgramOptions } from "../../../src/domain/program-options.ts";
import { openDatabase } from "../../../src/store/open.ts";
import { migrateTo } from "../../../src/store/schema/migrate.ts";
import type { Lease } from "../../../src/store/submissions/types.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { addKey, emptyDatabase, temporaryPostgres } from "../../support/store/temporary.ts";
import { report } from "../../support/verdict/reports.ts";
import { addProject, submit } from "../../support/webhooks/project.ts";

/** The last version of the schema without the view. */
const BEFORE = 21;
const SETTINGS = JSON.stringify({ number_of_runs: 5, cpu_time_limit: 1 });
const DONE = buildOutcome({ execute: report({ stdout: Buffer.from("1\n") }) });

for (const kind of ["sqlite", "postgres"] as const) {
  test(`the migration keeps how often waiting submissions run, and what compilers wrote, on ${kind}`, async (t) => {
    const database = await emptyDatabase(t, kind);
    const engine = await openDatabase(database);
    t.after(() => engine.db.destroy());
    await engine.db.transaction().execute(async (trx) => {
      await migrateTo(trx, engine.abilities, BEFORE);
      await sql`insert into accounts (id, name, tier, created_at) values ('a', 'a', 'beta', 0)`.execute(trx);
      await sql`insert into api_keys (id, account_id, name, prefix, hash, profiles, default_profile, created_at)
        values ('k', 'a', 'k', 'p', 'h', '["judge"]', 'judge', 0)`.execute(trx);
      for (const [at, status] of ["pending", "running", "completed"].entries()) {
        await sql`insert into submissions (id, account_id, key_id, language, profile, status, attempts, created_at, judge0)
          values (${status}, 'a', 'k', 'c', 'judge', ${status}, 1, ${at}, 2)`.execute(trx);
        await sql`insert into programs (submission_seq, code, stdin) values (${at + 1}, ${Buffer.from("x")}, ${Buffer.alloc(0)})`.execute(
          trx,
        );
        await sql`insert into judge0_submissions (submission_seq, account_id, language_id, settings, status, compile_output)
          values (${at + 1}, 'a', 50, ${SETTINGS}, ${status === "completed" ? 4 : null},
            ${status === "completed" ? Buffer.from("warning") : null})`.execute(trx);
      }
      await sql`insert into outcomes (submission_seq, body) values (3, '{}')`.execute(trx);
      await migrateTo(trx, engine.abilities, BEFORE + 1);
    });
    await within(database, async ({ db }) => {
      const programs = await db.selectFrom("programs").select("additions").orderBy("submission_seq").execute();
      const runs = programs.map(({ additions }) => additions && decodeProgramOptions(additions.toString()).runs);
      assert.deepEqual(runs, [5, 5, null]);
      const { compile_output } = await db.selectFrom("outcomes").select("compile_output").executeTakeFirstOrThrow();
      assert.equal(String(compile_output), "warning");
      const rows = await db.selectFrom("foreign_submissions").select(["api", "category", "data", "note"]).execute();
      const row = { api: "judge0", category: 50, data: SETTINGS };
      assert.deepEqual(rows.map(({ note }) => note).sort(), [4, null, null]);
      for (const { note: _, ...rest } of rows) assert.deepEqual(rest, row);
    });
  });
}

test("PostgreSQL: a process of the release before and one of this release run each other's submissions", async (t) => {
  const { store, database } = await temporaryPostgres(t);
  const project = await addProject(store);
  const { accountId } = await addKey(store, "older");
  // What the release before writes when it accepts a submission.
  const older = await submit(store, project);
  await within(database, async ({ db }) => {
    await sql`update submissions set judge0 = 2 where id = ${older}`.execute(db);
    await sql`insert into judge0_submissions (submission_seq, account_id, language_id, expected_output, additional_files,
        settings, callback_url, endpoint_id, status, compile_output)
      select seq, account_id, 71, ${Buffer.from("1")}, null, ${SETTINGS}, null, null, null, null
      from submissions where id = ${older}`.execute(db);
  });
  const [claim] = await store.submissions.claim("w", 10_000);
  assert.deepEqual([claim?.submission.id, claim?.program.options?.runs], [older, 5]);
  assert.deepEqual(claim?.foreign, { api: "judge0", data: SETTINGS, reference: Buffer.from("1") });
  await store.submissions.finish(claim?.lease as Lease, {
    ...DONE,
    foreignNote: 3,
    compileOutput: Buffer.from("note"),
  });
  // What the release before reads when it claims a submission that this one has accepted, and writes when the submission ends.
  const foreign = { api: "judge0", category: 71, data: SETTINGS, reference: Buffer.from("1"), attachment: null };
  const newer = await submit(store, project, "judge", null, { ...foreign, callback: null });
  await within(database, async ({ db }) => {
    const seq = sql`(select seq from submissions where id = ${newer})`;
    const { rows } = await sql`select judge0, settings, expected_output, judge0_submissions.status
      from submissions join judge0_submissions on submission_seq = seq where id = ${newer}`.execute(db);
    assert.deepEqual(rows, [{ judge0: 2, settings: SETTINGS, expected_output: Buffer.from("1"), status: null }]);
    const before =
      await sql`select status, compile_output from judge0_submissions where submission_seq <> ${seq}`.execute(db);
    assert.deepEqual(before.rows, [{ status: 3, compile_output: Buffer.from("note") }]);
    await sql`insert into outcomes (submission_seq, stdout, stderr, body) select ${seq}, stdout, stderr, body from outcomes`.execute(
      db,
    );
    await sql`update judge0_submissions set status = 4, compile_output = ${Buffer.from("warning")} where submission_seq = ${seq}`.execute(
      db,
    );
    await sql`update submissions set status = 'completed', completed_at = 1 where id = ${newer}`.execute(db);
  });
  const ended = await store.submissions.get(newer, project.key.accountId);
  assert.ok(ended);
  const about = await store.foreign.about("judge0", ended);
  assert.deepEqual([about?.note, String(about?.compileOutput), about?.category], [4, "warning", 71]);
  assert.equal(await store.foreign.about("other", ended), undefined);
  assert.deepEqual(await store.foreign.list(accountId, "judge0", { skip: 0, most: 10 }), { ids: [], total: 0 });
  const { ids } = await store.foreign.list(project.key.accountId, "judge0", { skip: 0, most: 10 });
  assert.deepEqual(ids, [newer, older]);
});
