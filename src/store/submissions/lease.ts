import { type Kysely, sql, type Transaction } from "kysely";
import type { Checked } from "../../domain/check.ts";
import type { Grading } from "../../domain/grading.ts";
import { cancelled, internalError, type Outcome } from "../../domain/outcome.ts";
import { MAX_ATTEMPTS } from "../../domain/submission.ts";
import type { Abilities } from "../database/database.ts";
import type { StoreNotification } from "../database/notifier.ts";
import type { Row, Schema } from "../database/schema.ts";
import { lockJudgements } from "../judgements/advance.ts";
import { type KeyOfAccount, returnTurns } from "../queue/turns.ts";
import { end } from "./end.ts";
import { ENDED_COLUMNS, type Ending, endedBy } from "./outcomes.ts";
import { putProgress, type Yield } from "./progress.ts";
import { takesInput } from "./takes-input.ts";
import type { Lease, Swept } from "./types.ts";

const LOST = internalError(`the run was lost ${MAX_ATTEMPTS} times; the platform gave up`);
const NOT_REPEATABLE = internalError(
  "the run was interrupted; agent runs are not repeated because they may have had outside effects",
);
const TALKED = internalError(
  "the run was interrupted; runs with live input are not repeated because their clients have talked with the program",
);

/** How an interrupted run ends if it may not be repeated; null if it may. */
function endOfInterrupted(row: Pick<Row<"submissions">, "profile" | "live" | "takes_input">): Outcome | null {
  if (row.profile !== "judge") return NOT_REPEATABLE;
  return takesInput(row) ? TALKED : null;
}

export const CANCELLED = cancelled("cancelled by a request of the client");

/**
 * A new value of `lease_until`. It is always higher than the last value, even if the clock was set back: observers take each change for
 * a heartbeat.
 */
export function nextLeaseUntil(table: "submissions" | "workers" | "links", untilMs: number) {
  const last = sql.ref<number>(`${table}.lease_until`);
  return sql<number>`case when ${last} < ${untilMs} then ${untilMs} else ${last} + 1 end`;
}

const UNLEASED = { worker_id: null, lease_until: null };

/** `started_at` of a submission that is requeued: if it has completed some of its runs, it keeps the start of the first run. */
const STARTED = sql<number | null>`case when completed_runs is null then null else started_at end`;

export async function renew(trx: Transaction<Schema>, lease: Lease, leaseUntilMs: number): Promise<boolean> {
  const result = await leased(trx, lease)
    .set({ lease_until: nextLeaseUntil("submissions", leaseUntilMs) })
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** The end of a claimed submission. */
export interface Finish {
  readonly lease: Lease;
  readonly outcome: Outcome;
  /** Null for a single submission. */
  readonly judged: CheckedRun | null;
}

/** What a judgement needs when one of its runs ends, in addition to the outcome. */
export interface CheckedRun {
  readonly judgementSeq: number;
  /** The decision of the checker; null if it made none, for example because the run was not AC. */
  readonly checked: Checked | null;
  /** What a run of the grader has led to; absent for other runs. */
  readonly grading?: Grading | null | undefined;
}

export interface Finished {
  /** For each request, whether its lease was valid. */
  readonly valid: readonly boolean[];
  readonly notifications: readonly StoreNotification[];
}

/** Ends the submissions whose leases are valid. */
export async function finish(trx: Transaction<Schema>, finishes: readonly Finish[], nowMs: number): Promise<Finished> {
  const judgements = await lockJudgements(
    trx,
    finishes.map(({ judged }) => judged?.judgementSeq),
  );
  const ended = new Map<string, Ending["row"]>();
  for (const alike of Map.groupBy(finishes, howItEnds).values()) {
    const [{ outcome }] = alike as [Finish];
    const leases = alike.map(({ lease }) => lease);
    const rows = await leased(trx, ...leases)
      .set(endedBy(outcome, nowMs))
      .returning([...ENDED_COLUMNS, "fence"])
      .execute();
    for (const row of rows) ended.set(`${row.id} ${row.fence}`, row);
  }
  const endings: Ending[] = [];
  const valid: boolean[] = [];
  for (const { lease, outcome, judged } of finishes) {
    const claim = `${lease.submissionId} ${lease.fence}`;
    const row = ended.get(claim);
    ended.delete(claim); // if the group contains a submission twice, it ends once
    if (row) endings.push({ row, outcome, checked: judged?.checked, grading: judged?.grading });
    valid.push(row !== undefined);
  }
  return { valid, notifications: await end(trx, endings, judgements, nowMs) };
}

function howItEnds({ outcome }: Finish): string {
  return `${outcome.status} ${outcome.result.verdict} ${outcome.result.cause}`;
}

/** A claimed submission that its worker gives up. `begun`: whether code of the program may have run. */
export interface ReleasedLease {
  readonly lease: Lease;
  readonly begun: boolean;
}

/**
 * Releases claimed submissions (`SubmissionStore.release`).
 * @param releases those that have not begun are in the reverse order of their claims.
 */
export async function release(
  trx: Transaction<Schema>,
  { lock }: Pick<Abilities, "lock">,
  releases: readonly ReleasedLease[],
  nowMs: number,
): Promise<Finished> {
  await lock(trx, "claim"); // a claim changes turns as well
  const found = await trx
    .selectFrom("submissions")
    .select(["id", "profile", "live", "takes_input", "judgement_seq", "key_id", "account_id"])
    .where(
      "id",
      "in",
      releases.map(({ lease }) => lease.submissionId),
    )
    .execute();
  const rows = new Map(found.map((row) => [row.id, row]));
  const over = new Map<ReleasedLease, Finish>();
  for (const one of releases) {
    const row = rows.get(one.lease.submissionId);
    const outcome = one.begun && row ? endOfInterrupted(row) : null;
    if (!row || !outcome) continue;
    const judged = row.judgement_seq === null ? null : { judgementSeq: row.judgement_seq, checked: null };
    over.set(one, { lease: one.lease, outcome, judged });
  }
  const finished = await finish(trx, [...over.values()], nowMs);
  const valid = new Map([...over.keys()].map((one, at) => [one, finished.valid[at] === true]));
  const unserved: KeyOfAccount[] = [];
  for (const one of releases.filter((each) => !over.has(each))) {
    const { lease, begun } = one;
    const result = await leased(trx, lease)
      .set({ ...UNLEASED, status: "pending", started_at: STARTED, attempts: lease.attempt - 1 })
      .executeTakeFirst();
    const released = result.numUpdatedRows > 0n;
    valid.set(one, released);
    const row = rows.get(lease.submissionId);
    if (released && row && !begun) unserved.push({ keyId: row.key_id, accountId: row.account_id });
  }
  await returnTurns(trx, unserved);
  return { valid: releases.map((one) => valid.get(one) === true), notifications: finished.notifications };
}

/**
 * Gives up the slot between two runs: the submission is pending again, at its former position in the queue of its key, and the attempt
 * does not count. @returns false for a void lease.
 */
export async function yieldSlot(trx: Transaction<Schema>, { lease, progress }: Yield): Promise<boolean> {
  const row = await leased(trx, lease)
    .set({ ...UNLEASED, status: "pending", attempts: lease.attempt - 1, completed_runs: progress.runs })
    .returning("seq")
    .executeTakeFirst();
  if (!row) return false;
  await putProgress(trx, row.seq, progress);
  return true;
}

/** Requeues a submission whose run failed because of the platform. @returns false for a void lease, or if it may not be repeated. */
export async function requeue(trx: Transaction<Schema>, lease: Lease): Promise<boolean> {
  if (lease.attempt >= MAX_ATTEMPTS) return false;
  const result = await leased(trx, lease)
    .where("profile", "=", "judge")
    .set({ ...UNLEASED, status: "pending", started_at: STARTED })
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** All running submissions with their present leases, from which `sweep` gets the abandoned ones. */
export async function readRunning(db: Kysely<Schema>) {
  const running = await db
    .selectFrom("submissions")
    .select([...ENDED_COLUMNS, "takes_input", "profile", "attempts", "fence", "lease_until"])
    .where("status", "=", sql.lit("running"))
    .execute();
  // The few running submissions are sorted here: to return them in the order of `seq`, SQLite would read all records.
  return running.sort((a, b) => a.seq - b.seq);
}

type Running = Awaited<ReturnType<typeof readRunning>>[number];

/**
 * Requeues or ends submissions whose leases were abandoned. Other processes may renew, finish or sweep the same rows at the same time. A
 * row is therefore changed only if its lease has not changed since it was read. The rows have a fixed order, to avoid deadlocks
 * between sweeps.
 */
export async function sweep(
  trx: Transaction<Schema>,
  nowMs: number,
  abandoned: readonly Running[],
): Promise<{ readonly swept: Swept; readonly notifications: readonly StoreNotification[] }> {
  const judgements = await lockJudgements(
    trx,
    abandoned.map((row) => row.judgement_seq),
  );
  const requeued: string[] = [];
  const failed: Ending[] = [];
  for (const row of abandoned) {
    const over = endOfInterrupted(row);
    const isRepeatable = over === null && row.attempts < MAX_ATTEMPTS;
    const outcome = over ?? LOST;
    const became = isRepeatable ? { ...UNLEASED, status: "pending", started_at: STARTED } : endedBy(outcome, nowMs);
    const taken = await trx
      .updateTable("submissions")
      .set(became)
      .where("seq", "=", row.seq)
      .where("status", "=", sql.lit("running"))
      .where("fence", "=", row.fence)
      .where("lease_until", "=", row.lease_until)
      .executeTakeFirst();
    if (taken.numUpdatedRows === 0n) continue;
    if (isRepeatable) requeued.push(row.id);
    else failed.push({ row, outcome });
  }
  const notifications = await end(trx, failed, judgements, nowMs);
  return { swept: { requeued, failed: failed.map(({ row }) => row.id) }, notifications };
}

/**
 * Ends a submission that has not ended. A worker that runs it loses its lease.
 * @returns the notifications to send; undefined if the submission has ended, or the account has no such submission.
 */
export async function cancel(
  trx: Transaction<Schema>,
  { id, accountId }: { readonly id: string; readonly accountId: string },
  nowMs: number,
): Promise<StoreNotification[] | undefined> {
  const run = await trx
    .selectFrom("submissions")
    .select("judgement_seq")
    .where("id", "=", id)
    .where("account_id", "=", accountId)
    .executeTakeFirst();
  const judgements = await lockJudgements(trx, [run?.judgement_seq]);
  const row = await trx
    .updateTable("submissions")
    .set(endedBy(CANCELLED, nowMs))
    .where("id", "=", id)
    .where("account_id", "=", accountId)
    .where("status", "in", [sql.lit("pending"), sql.lit("running")])
    .returning(ENDED_COLUMNS)
    .executeTakeFirst();
  return row && (await end(trx, [{ row, outcome: CANCELLED }], judgements, nowMs));
}

/** An update of the submissions whose leases are valid. A worker whose lease was taken away therefore changes nothing. */
function leased(trx: Transaction<Schema>, ...leases: readonly Lease[]) {
  const ids = leases.map(({ submissionId }) => submissionId);
  const leaseTexts = leases.map(({ submissionId, workerId, fence }) => `${submissionId} ${workerId} ${fence}`);
  return trx
    .updateTable("submissions")
    .where("id", "in", ids)
    .where("status", "=", sql.lit("running"))
    .where(sql<string>`id || ' ' || worker_id || ' ' || fence`, "in", leaseTexts);
}
