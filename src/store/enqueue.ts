import { sql, type Transaction } from "kysely";
import type { Abilities } from "./engine.ts";
import { isLive } from "./key-rows.ts";
import type { Enqueue, Enqueued } from "./port.ts";
import { SUBMISSION_COLUMNS, toSubmission } from "./rows.ts";
import type { Schema } from "./schema.ts";

/**
 * Held by each transaction that accepts submissions, revokes a key or suspends an account. So nothing is accepted for a
 * key or an account once its end is committed, and a drop of what waits finds all that was accepted before.
 */
export const ENQUEUE_LOCK = "enqueue";

/**
 * Accepts submissions in their order, or says of each why not. The key and the account are read here again: between the
 * authentication and here, a client may have taken half a minute to send its body. A known idempotency key is answered
 * before the bound is looked at: a repeated request must not fail because others filled the queue.
 *
 * An account may have as many pending as there are places left: alone at most half of the queue, n accounts at most an
 * n + 1st part each. So however many submissions the others send, an account that has none pending finds a place.
 */
export async function enqueue(
  trx: Transaction<Schema>,
  { lock }: Pick<Abilities, "lock">,
  { requests, nowMs }: { readonly requests: readonly Enqueue[]; readonly nowMs: number },
): Promise<Enqueued[]> {
  // One after the other: else two that count at the same time would both find the last place free.
  await lock(trx, ENQUEUE_LOCK);
  const found = new Map<Enqueue, Enqueued>();
  const ended = await endedKeys(trx, requests, nowMs);
  for (const request of requests) {
    const answer = ended.get(request.submission.keyId) ?? (await findKnown(trx, request));
    if (answer) found.set(request, answer);
  }
  const fresh = requests.filter((request) => !found.has(request));
  const pending = fresh.length > 0 ? await countByAccount(trx) : new Map<string, number>();
  const before = [...pending.values()].reduce((sum, amount) => sum + amount, 0);
  const accepted: Enqueue[] = [];
  const again: Enqueue[] = [];
  const keys = new Set<string>();
  for (const request of fresh) {
    const queueDepth = before + accepted.length;
    const { accountId } = request.submission;
    const own = pending.get(accountId) ?? 0;
    if (keys.has(keyOf(request))) again.push(request);
    else if (request.onlyKnown) found.set(request, { kind: "unknown" });
    else if (own >= request.maxPending - queueDepth) found.set(request, { kind: "full", queueDepth });
    else {
      accepted.push(request);
      pending.set(accountId, own + 1);
      if (request.idempotency) keys.add(keyOf(request));
    }
  }
  const seqs = await insert(trx, accepted);
  let queueDepth = before;
  for (const request of accepted) {
    const { submission } = request;
    if (seqs.has(submission.id)) found.set(request, { kind: "enqueued", submission, queueDepth: ++queueDepth });
    else again.push(request);
  }
  for (const request of again) found.set(request, await winnerOver(trx, request));
  return requests.map((request) => found.get(request) as Enqueued);
}

/** @returns for each key that may not submit any more, why. */
async function endedKeys(
  trx: Transaction<Schema>,
  requests: readonly Enqueue[],
  nowMs: number,
): Promise<Map<string, Enqueued>> {
  const ids = [...new Set(requests.map(({ submission }) => submission.keyId))];
  const rows = await trx
    .selectFrom("api_keys")
    .innerJoin("accounts", "accounts.id", "api_keys.account_id")
    .select(["api_keys.id", "revoked_at", "expires_at", "suspended_at"])
    .where("api_keys.id", "in", ids)
    .execute();
  const ended = new Map<string, Enqueued>();
  for (const row of rows) {
    if (!isLive(row, nowMs)) ended.set(row.id, { kind: "revoked" });
    else if (row.suspended_at !== null) ended.set(row.id, { kind: "suspended" });
  }
  return ended;
}

/** What at most one submission of an account has. */
function keyOf({ idempotency, submission }: Enqueue): string {
  return idempotency ? `${submission.accountId} ${idempotency.key}` : "";
}

/** Another process, or an earlier request of the same group, had the same idempotency key. */
async function winnerOver(trx: Transaction<Schema>, request: Enqueue): Promise<Enqueued> {
  const winner = await findKnown(trx, request);
  if (winner) return winner;
  throw new Error("a submission was neither inserted nor found");
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
  return { kind: "duplicate", submission: toSubmission(row, null), queueDepth: await countPending(trx) };
}

/** @returns the place in the order of arrival by id, without those whose idempotency key was there. */
async function insert(trx: Transaction<Schema>, accepted: readonly Enqueue[]): Promise<Map<string, number>> {
  if (accepted.length === 0) return new Map();
  const rows = await trx
    .insertInto("submissions")
    .values(
      accepted.map(({ submission, idempotency, live }) => ({
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
        live: live ? 1 : null,
      })),
    )
    .onConflict((conflict) => conflict.columns(["account_id", "idempotency_key"]).doNothing())
    .returning(["seq", "id"])
    .execute();
  const seqs = new Map(rows.map(({ id, seq }) => [id, seq]));
  const programs = accepted.flatMap(({ submission, program }) => {
    const seq = seqs.get(submission.id);
    return seq === undefined ? [] : [{ submission_seq: seq, code: program.code, stdin: program.stdin }];
  });
  if (programs.length > 0) await trx.insertInto("programs").values(programs).execute();
  return seqs;
}

/** By the index of what is pending, which has the keys: reading the account of each submission would read each row. */
async function countByAccount(trx: Transaction<Schema>): Promise<Map<string, number>> {
  const { rows } = await sql<{ account_id: string; amount: number | string }>`
    select amount, (select account_id from api_keys where id = key_id) as account_id
    from (select key_id, count(*) as amount from submissions where status = 'pending' group by key_id) as counted`.execute(
    trx,
  );
  const accounts = new Map<string, number>();
  for (const { account_id: id, amount } of rows) accounts.set(id, (accounts.get(id) ?? 0) + Number(amount));
  return accounts;
}

/** Pending submissions of all keys; at most the bound, so counting them is cheap. */
export async function countPending(trx: Pick<Transaction<Schema>, "selectFrom">): Promise<number> {
  const { pending } = await trx
    .selectFrom("submissions")
    .select((eb) => eb.fn.countAll<number>().as("pending"))
    .where("status", "=", sql.lit("pending"))
    .executeTakeFirstOrThrow();
  return Number(pending);
}
