import type { Transaction } from "kysely";
import type { Outcome } from "../../../domain/outcome.ts";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

const AT_ONCE = 1_000;

/**
 * Adds two columns for lists. `cause` is a copy of the cause in the outcome, where megabytes of output can precede it. It stays null
 * for accepted submissions, which all have the cause `normal_exit`. `original_id` is the id of the submission that a submission repeats.
 */
export async function causes(trx: Transaction<Schema>, _: Abilities): Promise<void> {
  // Null until the end, and for accepted submissions that ended before this column existed.
  await trx.schema.alterTable("submissions").addColumn("cause", "text").execute();
  // Id of the submission that this one repeats, which may have been deleted; null for none.
  await trx.schema.alterTable("submissions").addColumn("original_id", "text").execute();
  for (let last = 0, more = true; more; ) {
    const rows = await trx
      .selectFrom("submissions")
      .innerJoin("outcomes", "outcomes.submission_seq", "submissions.seq")
      .select(["seq", "body"])
      .where("seq", ">", last)
      .where("verdict", "<>", "AC")
      .orderBy("seq")
      .limit(AT_ONCE)
      .execute();
    const causeOf = ({ body }: { readonly body: string }) =>
      (JSON.parse(body) as { readonly judgement: Outcome["result"] }).judgement.cause;
    for (const [cause, alike] of Map.groupBy(rows, causeOf)) {
      const seqs = alike.map(({ seq }) => seq);
      await trx.updateTable("submissions").set({ cause }).where("seq", "in", seqs).execute();
    }
    last = rows.at(-1)?.seq ?? last;
    more = rows.length === AT_ONCE;
  }
}
