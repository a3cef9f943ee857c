import { type Kysely, sql, type Transaction } from "kysely";
import { cancelled, internalError, type Outcome } from "../../domain/outcome.ts";
import { MAX_ATTEMPTS } from "../../domain/submission.ts";
import { insertDeliveries } from "../deliveries/outbox.ts";
import type { Schema, SubmissionRow } from "../schema/schema.ts";
import { fromOutcome } from "./rows.ts";
import type { Lease, Swept } from "./types.ts";

const LOST = internalError(`the run was lost ${MAX_ATTEMPTS} times; the platform gave up`);
const NOT_REPEATABLE = internalError(
  "the run was interrupted; agent runs are not repeated because they may have had outside effects",
);

const CANCELLED = cancelled("cancelled by a request of the client");

interface Finished {
  /** Whether a delivery is due. */
  readonly delivers: boolean;
}

/** A new value of `lease_until` that always differs from the last, whatever the clock is: the heartbeat for observers. */
export function nextLeaseUntil(table: "submissions" | "workers", untilMs: number) {
  const last = sql.ref<number>(`${table}.lease_until`);
  return sql<number>`case when ${last} < ${untilMs} then ${untilMs} else ${last} + 1 end`;
}

/** The columns of a submission that its end needs. */
export const ENDED_COLUMNS = [
  "seq",
  "id",
  "project_id",
  "account_id",
  "language",
  "live",
  "created_at",
  "started_at",
] as const satisfies readonly (keyof SubmissionRow)[];

type EndedRow = Pick<SubmissionRow, (typeof ENDED_COLUMNS)[number]>;

interface Ending {
  readonly row: EndedRow;
  readonly outcome: Outcome;
}

const UNLEASED = { worker_id: null, lease_until: null };

export async function renew(trx: Transaction<Schema>, lease: Lease, leaseUntilMs: number): Promise<boolean> {
  const result = await held(trx, lease)
    .set({ lease_until: nextLeaseUntil("submissions", leaseUntilMs) })
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** An ended run with its outcome. */
export interface Finish {
  readonly lease: Lease;
  readonly outcome: Outcome;
}

/** Ends runs. @returns for each whether a delivery is due; undefined for a void lease. */
export async function finish(
  trx: Transaction<Schema>,
  finishes: readonly Finish[],
  nowMs: number,
): Promise<(Finished | undefined)[]> {
  const ended = new Map<string, EndedRow>();
  for (const alike of Map.groupBy(finishes, howItEnds).values()) {
    const [{ outcome }] = alike as [Finish];
    const leases = alike.map(({ lease }) => lease);
    const rows = await held(trx, ...leases)
      .set({ ...UNLEASED, status: outcome.status, completed_at: nowMs, verdict: outcome.judgement.verdict })
      .returning([...ENDED_COLUMNS, "fence"])
      .execute();
    for (const row of rows) ended.set(`${row.id} ${row.fence}`, row);
  }
  const ours: Ending[] = [];
  const results: (Finished | undefined)[] = [];
  for (const { lease, outcome } of finishes) {
    const claim = `${lease.submissionId} ${lease.fence}`;
    const row = ended.get(claim);
    ended.delete(claim); // a duplicate in the group ends once
    if (row) ours.push({ row, outcome });
    results.push(row && { delivers: await insertDeliveries(trx, row, nowMs) });
  }
  await insertOutcomes(trx, ours, nowMs);
  return results;
}

function howItEnds({ outcome }: Finish): string {
  return `${outcome.status} ${outcome.judgement.verdict}`;
}

/** @returns the new state; undefined for a void lease. */
export async function release(
  trx: Transaction<Schema>,
  lease: Lease,
  begun: boolean,
  nowMs: number,
): Promise<(Finished & { became: "requeued" | "failed" }) | undefined> {
  const row = await trx
    .selectFrom("submissions")
    .select("profile")
    .where("id", "=", lease.submissionId)
    .executeTakeFirst();
  if (begun && row?.profile === "agent") {
    const [finished] = await finish(trx, [{ lease, outcome: NOT_REPEATABLE }], nowMs);
    return finished && { ...finished, became: "failed" };
  }
  const result = await held(trx, lease)
    .set({ ...UNLEASED, status: "pending", started_at: null, attempts: lease.attempt - 1 })
    .executeTakeFirst();
  return result.numUpdatedRows > 0n ? { became: "requeued", delivers: false } : undefined;
}

/** @returns false for a void lease or a run that may not be repeated. */
export async function repeat(trx: Transaction<Schema>, lease: Lease): Promise<boolean> {
  if (lease.attempt >= MAX_ATTEMPTS) return false;
  const result = await held(trx, lease)
    .where("profile", "=", "judge")
    .set({ ...UNLEASED, status: "pending", started_at: null })
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** All running submissions with their present leases: an argument of sweep. */
export async function readRunning(db: Kysely<Schema>) {
  const running = await db
    .selectFrom("submissions")
    .select([...ENDED_COLUMNS, "profile", "attempts", "fence", "lease_until"])
    .where("status", "=", sql.lit("running"))
    .execute();
  // Sorted here: to sort the few running submissions, SQLite would read all records in the order of seq.
  return running.sort((a, b) => a.seq - b.seq);
}

type Running = Awaited<ReturnType<typeof readRunning>>[number];

/**
 * Other processes may renew, finish or sweep the same rows at the same time. A row is therefore
 * changed only if its lease is unchanged, and in a fixed order, to avoid deadlocks between sweeps.
 */
export async function sweep(
  trx: Transaction<Schema>,
  nowMs: number,
  abandoned: readonly Running[],
): Promise<Swept & Finished> {
  const swept = { requeued: [] as string[], failed: [] as string[] };
  let delivers = false;
  for (const row of abandoned) {
    const again = row.profile === "judge" && row.attempts < MAX_ATTEMPTS;
    const became = again
      ? { ...UNLEASED, status: "pending", started_at: null }
      : { ...UNLEASED, status: "error", completed_at: nowMs, verdict: "IE" };
    const taken = await trx
      .updateTable("submissions")
      .set(became)
      .where("seq", "=", row.seq)
      .where("status", "=", sql.lit("running"))
      .where("fence", "=", row.fence)
      .where("lease_until", "=", row.lease_until)
      .executeTakeFirst();
    if (taken.numUpdatedRows === 0n) continue;
    swept[again ? "requeued" : "failed"].push(row.id);
    if (again) continue;
    const outcome = row.profile === "judge" ? LOST : NOT_REPEATABLE;
    await insertOutcomes(trx, [{ row, outcome }], nowMs);
    delivers = (await insertDeliveries(trx, row, nowMs)) || delivers;
  }
  return { ...swept, delivers };
}

/** Ends a submission that has not ended. A worker that runs it loses its lease. @returns undefined if it has ended. */
export async function cancel(
  trx: Transaction<Schema>,
  { id, accountId }: { readonly id: string; readonly accountId: string },
  nowMs: number,
): Promise<Finished | undefined> {
  const row = await trx
    .updateTable("submissions")
    .set({ ...UNLEASED, status: CANCELLED.status, completed_at: nowMs, verdict: CANCELLED.judgement.verdict })
    .where("id", "=", id)
    .where("account_id", "=", accountId)
    .where("status", "in", [sql.lit("pending"), sql.lit("running")])
    .returning(ENDED_COLUMNS)
    .executeTakeFirst();
  if (!row) return undefined;
  await insertOutcomes(trx, [{ row, outcome: CANCELLED }], nowMs);
  return { delivers: await insertDeliveries(trx, row, nowMs) };
}

/** An update that only affects rows with a valid lease: the fence against late workers. */
function held(trx: Transaction<Schema>, ...leases: readonly Lease[]) {
  const ids = leases.map(({ submissionId }) => submissionId);
  const whole = leases.map(({ submissionId, workerId, fence }) => `${submissionId} ${workerId} ${fence}`);
  return trx
    .updateTable("submissions")
    .where("id", "in", ids)
    .where("status", "=", sql.lit("running"))
    .where(sql<string>`id || ' ' || worker_id || ' ' || fence`, "in", whole);
}

/** Part of the transaction of the end, so that each end has its outcome. */
export async function insertOutcomes(trx: Transaction<Schema>, ended: readonly Ending[], nowMs: number): Promise<void> {
  if (ended.length === 0) return;
  const rows = ended.map(({ row, outcome }) => ({ submission_seq: row.seq, ...fromOutcome(outcome) }));
  await trx.insertInto("outcomes").values(rows).execute();
  const uncounted = ended.map(({ row, outcome }) => ({
    submission_seq: row.seq,
    account_id: row.account_id,
    language: row.language,
    verdict: outcome.judgement.verdict,
    completed_at: nowMs,
    wait_ms: (row.started_at ?? nowMs) - row.created_at,
    run_ms: nowMs - (row.started_at ?? nowMs),
  }));
  await trx.insertInto("uncounted").values(uncounted).execute();
  const watched = ended.filter(({ row }) => row.live === 1).map(({ row }) => row.seq);
  if (watched.length > 0) await trx.deleteFrom("live_output").where("submission_seq", "in", watched).execute();
}
