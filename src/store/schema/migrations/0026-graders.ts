import type { Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/** Adds graders of problems. Release 0.1.0 has no problems with a grader, and ignores the columns. */
export async function graders(trx: Transaction<Schema>, { columns }: Abilities): Promise<void> {
  // A program, as in the column checker; null if the problem has no grader.
  await trx.schema.alterTable("versions").addColumn("grader", columns.bytes).execute();
  // JSON of a StoredGrading (src/store/judgements/grading.ts); null unless a grader has graded the judgement.
  await trx.schema.alterTable("judgements").addColumn("grading", "text").execute();
}
