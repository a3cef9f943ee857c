import type { Kysely, Transaction } from "kysely";
import { decodeProgress, encodeProgress, type Progress } from "../../domain/progress.ts";
import type { Row, Schema } from "../database/schema.ts";
import type { Lease } from "./types.ts";

/** A claimed submission that gives up its slot between two of its runs. */
export interface Yield {
  readonly lease: Lease;
  readonly progress: Progress;
}

/** Stores how far a submission has come, and replaces what was stored before. */
export async function putProgress(trx: Transaction<Schema>, seq: number, progress: Progress): Promise<void> {
  const body = encodeProgress(progress);
  await trx
    .insertInto("submission_progress")
    .values({ submission_seq: seq, body })
    .onConflict((conflict) => conflict.column("submission_seq").doUpdateSet({ body }))
    .execute();
}

/** The progress of those claimed submissions that have given up a slot, by sequence number. If none has, nothing is read. */
export async function readProgress(
  db: Kysely<Schema>,
  claimed: readonly Pick<Row<"submissions">, "seq" | "completed_runs">[],
): Promise<Map<number, Progress>> {
  const seqs = claimed.filter((row) => row.completed_runs !== null).map(({ seq }) => seq);
  if (seqs.length === 0) return new Map();
  const rows = await db.selectFrom("submission_progress").selectAll().where("submission_seq", "in", seqs).execute();
  return new Map(rows.map(({ submission_seq: seq, body }) => [seq, decodeProgress(body)]));
}

/** Removes the progress of those ended submissions that have given up a slot. If none has, nothing is written. */
export async function dropProgress(
  trx: Transaction<Schema>,
  ended: readonly Pick<Row<"submissions">, "seq" | "completed_runs">[],
): Promise<void> {
  const seqs = ended.filter((row) => row.completed_runs !== null).map(({ seq }) => seq);
  if (seqs.length === 0) return;
  await trx.deleteFrom("submission_progress").where("submission_seq", "in", seqs).execute();
}
