import type { Transaction } from "kysely";
import type { Abilities } from "./engine.ts";
import type { Enqueue, Enqueued } from "./port.ts";
import { readSubmission } from "./read.ts";
import { SUBMISSION_COLUMNS } from "./rows.ts";
import type { Schema } from "./schema.ts";

/**
 * Accepts a submission, or says why not. A known idempotency key is answered before the
 * bound is looked at: a repeated request must not fail because others filled the queue.
 */
export async function enqueue(
  trx: Transaction<Schema>,
  { lock }: Pick<Abilities, "lock">,
  request: Enqueue,
): Promise<Enqueued> {
  // One after the other: else two that count at the same time would both find the last place free.
  await lock(trx, "enqueue");
  const known = await findKnown(trx, request);
  if (known) return known;
  if (request.onlyKnown) return { kind: "unknown" };
  const depth = await countPending(trx);
  if (depth >= request.maxPending) return { kind: "full", queueDepth: depth };
  const seq = await insert(trx, request);
  if (seq === undefined) {
    // Another process inserted the same idempotency key since we looked.
    const winner = await findKnown(trx, request);
    if (winner) return winner;
    throw new Error("a submission was neither inserted nor found");
  }
  await trx
    .insertInto("programs")
    .values({ submission_seq: seq, code: request.program.code, stdin: request.program.stdin })
    .execute();
  return { kind: "enqueued", submission: request.submission, queueDepth: depth + 1 };
}

async function findKnown(trx: Transaction<Schema>, request: Enqueue): Promise<Enqueued | undefined> {
  const { idempotency, submission } = request;
  if (!idempotency) return undefined;
  const row = await trx
    .selectFrom("submissions")
    .select([...SUBMISSION_COLUMNS, "request_hash"])
    .where("account_id", "=", submission.accountId)
    .where("idempotency_key", "=", idempotency.key)
    .executeTakeFirst();
  if (!row) return undefined;
  if (row.request_hash !== idempotency.requestHash) return { kind: "conflict" };
  const existing = await readSubmission(trx, row.id, submission.accountId);
  if (!existing) return undefined;
  return { kind: "duplicate", submission: existing, queueDepth: await countPending(trx) };
}

async function insert(trx: Transaction<Schema>, { submission, idempotency }: Enqueue): Promise<number | undefined> {
  const row = await trx
    .insertInto("submissions")
    .values({
      id: submission.id,
      account_id: submission.accountId,
      key_id: submission.keyId,
      project_id: submission.projectId,
      language: submission.language,
      profile: submission.profile,
      status: submission.status,
      attempts: submission.attempts,
      idempotency_key: idempotency?.key ?? null,
      request_hash: idempotency?.requestHash ?? null,
      created_at: submission.createdAtMs,
    })
    .onConflict((conflict) => conflict.columns(["account_id", "idempotency_key"]).doNothing())
    .returning("seq")
    .executeTakeFirst();
  return row?.seq;
}

/** Pending submissions of all keys; at most the bound, so counting them is cheap. */
export async function countPending(trx: Pick<Transaction<Schema>, "selectFrom">): Promise<number> {
  const { pending } = await trx
    .selectFrom("submissions")
    .select((eb) => eb.fn.countAll<number>().as("pending"))
    .where("status", "=", "pending")
    .executeTakeFirstOrThrow();
  return Number(pending);
}
