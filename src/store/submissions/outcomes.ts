import type { Transaction } from "kysely";
import type { Checked } from "../../domain/check.ts";
import type { Grading } from "../../domain/grading.ts";
import { classOf } from "../../domain/history.ts";
import type { Outcome } from "../../domain/outcome.ts";
import { encodeSamples } from "../../domain/samples.ts";
import type { Row, Schema } from "../database/schema.ts";
import { dropProgress } from "./progress.ts";
import { fromOutcome } from "./rows.ts";

/** The columns of a submission that the transaction of its end needs. */
export const ENDED_COLUMNS = [
  "seq",
  "id",
  "project_id",
  "account_id",
  "key_id",
  "language",
  "live",
  "created_at",
  "started_at",
  "judgement_seq",
  "test",
  "completed_runs",
] as const satisfies readonly (keyof Row<"submissions">)[];

/** A submission that ends, with its outcome. */
export interface Ending {
  readonly row: Pick<Row<"submissions">, (typeof ENDED_COLUMNS)[number]>;
  readonly outcome: Outcome;
  /** What the checker decided about a run of a judgement; null or undefined if no checker did. */
  readonly checked?: Checked | null | undefined;
  /** What a run of a grader has led to. */
  readonly grading?: Grading | null | undefined;
}

/** The new values of columns of a submission that ends: its result, and no lease. */
export function endedBy({ status, result: { verdict, cause } }: Outcome, nowMs: number) {
  return { worker_id: null, lease_until: null, status, completed_at: nowMs, verdict, cause };
}

/**
 * Stores the outcomes of submissions that end, and deletes their progress and live rows. The transaction that ends the submissions calls
 * it, so that each ended submission has an outcome.
 */
export async function insertOutcomes(trx: Transaction<Schema>, ended: readonly Ending[]): Promise<void> {
  if (ended.length === 0) return;
  const rows = ended.map(({ row, outcome }) => ({ submission_seq: row.seq, ...fromOutcome(outcome) }));
  await trx.insertInto("outcomes").values(rows).execute();
  const sampled = ended.flatMap(({ row, outcome: { samples } }) =>
    samples ? [{ submission_seq: row.seq, body: encodeSamples(samples) }] : [],
  );
  if (sampled.length > 0) await trx.insertInto("samples").values(sampled).execute();
  await dropProgress(
    trx,
    ended.map(({ row }) => row),
  );
  const watched = ended.filter(({ row }) => row.live !== null).map(({ row }) => row.seq);
  if (watched.length === 0) return;
  await trx.deleteFrom("live_output").where("submission_seq", "in", watched).execute();
  await trx.deleteFrom("live_input").where("submission_seq", "in", watched).execute();
}

/** Adds ended submissions to those that the history has yet to count. */
export async function insertUncounted(
  trx: Transaction<Schema>,
  ended: readonly Ending[],
  nowMs: number,
): Promise<void> {
  if (ended.length === 0) return;
  const uncounted = ended.map(({ row, outcome }) => ({
    submission_seq: row.seq,
    account_id: row.account_id,
    key_id: row.key_id,
    language: row.language,
    verdict: classOf(outcome.result),
    completed_at: nowMs,
    wait_ms: (row.started_at ?? nowMs) - row.created_at,
    run_ms: nowMs - (row.started_at ?? nowMs),
  }));
  await trx.insertInto("uncounted").values(uncounted).execute();
}
