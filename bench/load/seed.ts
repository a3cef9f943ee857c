import { type Kysely, sql } from "kysely";
import type { Schema } from "../../src/store/database/schema.ts";
import { type BenchDatabase, within } from "./database.ts";

const DAY_MS = 86_400_000;
/** Records are spread over this time, so that none is purged during the benchmark: they are kept for 30 days. */
const SPREAD_MS = 25 * DAY_MS;
/** Rows in one transaction, which bounds the journal. */
const AT_ONCE = 100_000;

/**
 * Fills a database with copies of records that a service has just created in it, each with its own id and times, so that the rows are
 * realistic.
 * @param wanted how many records the database is to have.
 * @returns how many records it has afterwards.
 */
export async function seed(there: Pick<BenchDatabase, "kind" | "database">, wanted: number): Promise<number> {
  return await within(there.database, async ({ db }) => {
    const { made, newest } = await db
      .selectFrom("submissions")
      .select((eb) => [eb.fn.countAll<number>().as("made"), eb.fn.max("seq").as("newest")])
      .where("completed_at", "is not", null)
      .executeTakeFirstOrThrow();
    if (Number(made) === 0) throw new Error("there is no record to copy");
    for (let have = Number(made); have < wanted; have += AT_ONCE) {
      await copy(db, there, {
        newest: Number(newest),
        templates: Number(made),
        amount: Math.min(AT_ONCE, wanted - have),
      });
    }
    // Otherwise, the server would do this by itself within minutes, which would disturb a measurement.
    if (there.kind === "postgres") await sql`vacuum analyze`.execute(db);
    const { count } = await db
      .selectFrom("submissions")
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .executeTakeFirstOrThrow();
    return Number(count);
  });
}

interface Share {
  readonly newest: number;
  readonly templates: number;
  readonly amount: number;
}

async function copy(
  db: Kysely<Schema>,
  { kind }: Pick<BenchDatabase, "kind">,
  { newest, templates, amount }: Share,
): Promise<void> {
  const uuid =
    kind === "postgres"
      ? sql`gen_random_uuid()::text`
      : sql`lower(substr(hex(randomblob(16)), 1, 8) || '-' || substr(hex(randomblob(16)), 1, 4) || '-4' ||
          substr(hex(randomblob(16)), 1, 3) || '-a' || substr(hex(randomblob(16)), 1, 3) || '-' || hex(randomblob(6)))`;
  const turns = sql`with recursive turns(turn) as (select 1 union all select turn + 1 from turns where turn < ${Math.ceil(amount / templates)})`;
  const past = sql`cast(turns.turn as bigint) * ${Math.floor((SPREAD_MS * templates) / amount)}`;
  await db.transaction().execute(async (trx) => {
    const before = await trx
      .selectFrom("submissions")
      .select((eb) => eb.fn.max("seq").as("seq"))
      .executeTakeFirstOrThrow();
    await sql`
      insert into submissions (id, account_id, key_id, project_id, language, profile, status, attempts, fence,
        created_at, started_at, completed_at, verdict, cause)
      ${turns} select ${uuid}, account_id, key_id, project_id, language, profile, status, attempts, fence,
        created_at - ${past}, started_at - ${past}, completed_at - ${past}, verdict, cause
      from turns cross join submissions where seq <= ${newest} and completed_at is not null
      order by turns.turn desc, seq limit ${amount}`.execute(trx);
    // Each new row gets the program and the outcome of one template. All templates are of the same kind.
    const template = sql`(select min(submission_seq) from outcomes)`;
    await sql`insert into programs (submission_seq, code, stdin)
      select seq, code, stdin from submissions, programs
      where seq > ${before.seq} and submission_seq = ${template}`.execute(trx);
    await sql`insert into outcomes (submission_seq, stdout, stderr, body)
      select seq, stdout, stderr, body from submissions, outcomes
      where seq > ${before.seq} and submission_seq = ${template}`.execute(trx);
  });
}
