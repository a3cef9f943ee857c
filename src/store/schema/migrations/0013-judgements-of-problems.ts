import { sql, type Transaction } from "kysely";
import type { Abilities } from "../../database/database.ts";
import type { Schema } from "../../database/schema.ts";

/** Adds an index of the judgements of a problem, by account and in their order, as for other lists. */
export async function judgementsOfProblems(trx: Transaction<Schema>, _: Abilities): Promise<void> {
  await sql`create index judgements_problem on judgements (account_id, problem_id, seq) where problem_id is not null`.execute(
    trx,
  );
}
