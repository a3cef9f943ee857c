import type { Transaction } from "kysely";
import { internalError, type Outcome } from "../domain/outcome.ts";
import { MAX_ATTEMPTS } from "../domain/submission.ts";
import type { Lease, Swept } from "./port.ts";
import { fromOutcome } from "./rows.ts";
import type { Schema } from "./schema.ts";

const LOST = internalError(`the run was lost ${MAX_ATTEMPTS} times; the platform gave up`);
const NOT_REPEATABLE = internalError(
  "the run was interrupted; agent runs are not repeated because they may have had outside effects",
);

const UNLEASED = { worker_id: null, lease_until: null };

export async function renew(trx: Transaction<Schema>, lease: Lease, leaseUntilMs: number): Promise<boolean> {
  const result = await held(trx, lease).set({ lease_until: leaseUntilMs }).executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

export async function finish(
  trx: Transaction<Schema>,
  lease: Lease,
  outcome: Outcome,
  nowMs: number,
): Promise<boolean> {
  const row = await held(trx, lease)
    .set({ ...UNLEASED, status: outcome.status, completed_at: nowMs, verdict: outcome.judgement.verdict })
    .returning("seq")
    .executeTakeFirst();
  if (!row) return false;
  await insertOutcome(trx, row.seq, outcome);
  return true;
}

/** @returns what became of it; undefined when the lease is no longer ours. */
export async function release(
  trx: Transaction<Schema>,
  lease: Lease,
  begun: boolean,
  nowMs: number,
): Promise<"requeued" | "failed" | undefined> {
  const row = await trx
    .selectFrom("submissions")
    .select("profile")
    .where("id", "=", lease.submissionId)
    .executeTakeFirst();
  if (begun && row?.profile === "agent") {
    return (await finish(trx, lease, NOT_REPEATABLE, nowMs)) ? "failed" : undefined;
  }
  const result = await held(trx, lease)
    .set({ ...UNLEASED, status: "pending", started_at: null, attempts: lease.attempt - 1 })
    .executeTakeFirst();
  return result.numUpdatedRows > 0n ? "requeued" : undefined;
}

export async function sweep(trx: Transaction<Schema>, nowMs: number): Promise<Swept> {
  const expired = await trx
    .selectFrom("submissions")
    .select(["seq", "id", "profile", "attempts"])
    .where("status", "=", "running")
    .where("lease_until", "<=", nowMs)
    .execute();
  const again = expired.filter((row) => row.profile === "judge" && row.attempts < MAX_ATTEMPTS);
  const over = expired.filter((row) => !again.includes(row));
  for (const row of again) {
    await trx
      .updateTable("submissions")
      .set({ ...UNLEASED, status: "pending", started_at: null })
      .where("seq", "=", row.seq)
      .execute();
  }
  for (const row of over) {
    await trx
      .updateTable("submissions")
      .set({ ...UNLEASED, status: "error", completed_at: nowMs, verdict: "IE" })
      .where("seq", "=", row.seq)
      .execute();
    await insertOutcome(trx, row.seq, row.profile === "judge" ? LOST : NOT_REPEATABLE);
  }
  return { requeued: again.map(({ id }) => id), failed: over.map(({ id }) => id) };
}

/** An update of the row that holds only while the lease is ours: the fence against late workers. */
function held(trx: Transaction<Schema>, lease: Lease) {
  return trx
    .updateTable("submissions")
    .where("id", "=", lease.submissionId)
    .where("status", "=", "running")
    .where("worker_id", "=", lease.workerId)
    .where("fence", "=", lease.fence);
}

async function insertOutcome(trx: Transaction<Schema>, seq: number, outcome: Outcome): Promise<void> {
  await trx
    .insertInto("outcomes")
    .values({ submission_seq: seq, ...fromOutcome(outcome) })
    .execute();
}
