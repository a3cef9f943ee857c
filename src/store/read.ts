import type { Kysely } from "kysely";
import type { Submission } from "../domain/submission.ts";
import { SUBMISSION_COLUMNS, toOutcome, toSubmission } from "./rows.ts";
import type { Schema } from "./schema.ts";

/** Which submission is asked for, and by whom. */
export interface Wanted {
  readonly id: string;
  readonly accountId: string;
}

/** Submissions with their outcomes, in the order asked; undefined where the account has none of that id. */
export async function readSubmissions(
  db: Kysely<Schema>,
  wanted: readonly Wanted[],
): Promise<(Submission | undefined)[]> {
  // Clients choose what they ask for, and there is text that PostgreSQL does not take at all.
  const ids = [...new Set(wanted.map(({ id }) => id).filter((id) => !id.includes("\0")))];
  if (ids.length === 0) return wanted.map(() => undefined);
  const rows = await withOutcome(db).where("submissions.id", "in", ids).execute();
  const found = new Map(rows.map((row) => [row.id, whole(row)]));
  return wanted.map(({ id, accountId }) => {
    const submission = found.get(id);
    return submission?.accountId === accountId ? submission : undefined;
  });
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
