import type { Kysely } from "kysely";
import type { Submission } from "../domain/submission.ts";
import { SUBMISSION_COLUMNS, toOutcome, toSubmission } from "./rows.ts";
import type { Schema } from "./schema.ts";

/** One submission of one account with its outcome; undefined when the account has none of that id. */
export async function readSubmission(
  db: Kysely<Schema>,
  id: string,
  accountId: string,
): Promise<Submission | undefined> {
  // Clients choose what they ask for, and there is text that PostgreSQL does not take at all.
  if (id.includes("\0")) return undefined;
  const row = await withOutcome(db)
    .where("submissions.id", "=", id)
    .where("submissions.account_id", "=", accountId)
    .executeTakeFirst();
  return row && whole(row);
}

/** A submission by its row, whoever's it is. */
export async function readEnded(db: Kysely<Schema>, seq: number): Promise<Submission | undefined> {
  const row = await withOutcome(db).where("submissions.seq", "=", seq).executeTakeFirst();
  return row && whole(row);
}

function withOutcome(db: Kysely<Schema>) {
  return db
    .selectFrom("submissions")
    .leftJoin("outcomes", "outcomes.submission_seq", "submissions.seq")
    .select([...SUBMISSION_COLUMNS, "outcomes.stdout", "outcomes.stderr", "outcomes.body"]);
}

type Joined = NonNullable<Awaited<ReturnType<ReturnType<typeof withOutcome>["executeTakeFirst"]>>>;

function whole({ stdout, stderr, body, ...row }: Joined): Submission {
  return toSubmission(row, body === null ? null : toOutcome({ stdout, stderr, body }));
}
