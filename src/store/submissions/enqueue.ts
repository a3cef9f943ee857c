import { sql, type Transaction } from "kysely";
import { encodeStates, type TestState } from "../../domain/judgement.ts";
import { isLive } from "../access/key-rows.ts";
import type { Abilities } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";
import { insertForeign } from "../foreign/rows.ts";
import type { NewJudgement } from "../judgements/types.ts";
import { keepComplete } from "../judgements/versions.ts";
import { insertNetworks } from "./networks.ts";
import { fromProgram, SUBMISSION_COLUMNS, toSubmission } from "./rows.ts";
import { liveColumns } from "./takes-input.ts";
import type { Enqueue, Enqueued } from "./types.ts";

/**
 * Held by each transaction that accepts submissions, revokes a key, or suspends or resumes an account. After the commit of a revocation
 * or suspension, no submission of the key or account is accepted, and a drop of its pending submissions finds all that were accepted
 * before.
 */
export const ENQUEUE_LOCK = "enqueue";

/**
 * Accepts submissions in their order, or returns the reason for each refusal. It reads the key and the account again, because a client
 * may take half a minute to send the body of its request after the authentication. It looks for known idempotency keys before it checks
 * the bound of the queue: a repeated request must not fail because of a full queue.
 *
 * An account can add a pending submission if it has fewer of them than the queue has free places. A single account can therefore fill
 * half of the queue, and each of n busy accounts 1/(n + 1) of it.
 */
export async function enqueue(
  trx: Transaction<Schema>,
  { lock }: Pick<Abilities, "lock">,
  { requests, nowMs }: { readonly requests: readonly Enqueue[]; readonly nowMs: number },
): Promise<Enqueued[]> {
  // One transaction at a time: otherwise, two of them could both add the last submission for which there is space.
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
    const ownPending = pending.get(accountId) ?? 0;
    if (keys.has(keyOf(request))) again.push(request);
    else if (request.onlyKnown) found.set(request, { kind: "unknown" });
    else if (isFull(ownPending, queueDepth, request.maxPending)) found.set(request, { kind: "full", queueDepth });
    else if (request.judgement && !(await keepComplete(trx, request.judgement.versionSeq, nowMs)))
      found.set(request, { kind: "versionGone" });
    else {
      accepted.push(request);
      pending.set(accountId, ownPending + 1);
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

/** @returns for each key that may no longer submit, the reason. */
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

/** An identifier that at most one submission has; empty without an idempotency key. */
function keyOf({ idempotency, submission }: Enqueue): string {
  return idempotency ? `${submission.accountId} ${idempotency.key}` : "";
}

/** Finds the submission of another process, or of an earlier request of the group, with the same idempotency key. */
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
    .leftJoin("judgements", "judgements.seq", "submissions.judgement_seq")
    .select([...SUBMISSION_COLUMNS, "request_hash", "judgements.id as judgement_id"])
    .where("submissions.account_id", "=", submission.accountId)
    .where("idempotency_key", "=", idempotency.key)
    .executeTakeFirst();
  if (!row) return undefined;
  if (row.request_hash !== idempotency.requestHash) return { kind: "conflict" };
  const queueDepth = await countPending(trx);
  return { kind: "duplicate", submission: toSubmission(row, null), queueDepth, judgementId: row.judgement_id };
}

/** @returns the sequence numbers by id, without submissions whose idempotency key already existed. */
async function insert(trx: Transaction<Schema>, accepted: readonly Enqueue[]): Promise<Map<string, number>> {
  if (accepted.length === 0) return new Map();
  const judgements = new Map<Enqueue, number>();
  for (const request of accepted)
    if (request.judgement) judgements.set(request, await insertJudgement(trx, request, request.judgement));
  const rows = await trx
    .insertInto("submissions")
    .values(
      accepted.map((request) => {
        const { submission, idempotency, live = false, takesInput = false, originalId } = request;
        const judgement_seq = judgements.get(request) ?? null;
        return {
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
          ...liveColumns(live, takesInput),
          original_id: originalId ?? null,
          judgement_seq,
          test: judgement_seq === null ? null : 0,
        };
      }),
    )
    .onConflict((conflict) => conflict.columns(["account_id", "idempotency_key"]).doNothing())
    .returning(["seq", "id"])
    .execute();
  const seqs = new Map(rows.map(({ id, seq }) => [id, seq]));
  const programs = accepted.flatMap(({ submission, program, judgement }) => {
    const seq = seqs.get(submission.id);
    if (seq === undefined && judgement) throw new Error("the first run of a judgement was not inserted");
    return seq === undefined || judgement ? [] : [{ submission_seq: seq, ...fromProgram(program) }];
  });
  if (programs.length > 0) await trx.insertInto("programs").values(programs).execute();
  const foreign = accepted.flatMap(({ submission: { id, accountId }, foreign }) => {
    const seq = seqs.get(id);
    return foreign && seq !== undefined ? [{ seq, accountId, foreign }] : [];
  });
  await insertForeign(trx, foreign);
  const networks = accepted.flatMap(({ submission: { id }, network }) => {
    const seq = seqs.get(id);
    return network !== undefined && seq !== undefined ? [{ seq, policy: network }] : [];
  });
  await insertNetworks(trx, networks);
  return seqs;
}

/** Adds a judgement with its program, which all its runs share. @returns the sequence number of the judgement. */
async function insertJudgement(
  trx: Transaction<Schema>,
  { submission, program }: Enqueue,
  { id, stop, versionSeq, tests, problem }: NewJudgement,
): Promise<number> {
  const { code, additions } = fromProgram(program);
  const states: TestState[] = Array.from({ length: tests }, (_, at) => (at === 0 ? "queued" : "waiting"));
  const { seq } = await trx
    .insertInto("judgements")
    .values({
      id,
      account_id: submission.accountId,
      key_id: submission.keyId,
      project_id: submission.projectId,
      version_seq: versionSeq,
      language: submission.language,
      profile: submission.profile,
      stop,
      status: "pending",
      states: encodeStates(states),
      problem_id: problem?.id ?? null,
      problem_version: problem?.version ?? null,
      created_at: submission.createdAtMs,
    })
    .returning("seq")
    .executeTakeFirstOrThrow();
  await trx.insertInto("judged_programs").values({ judgement_seq: seq, code, additions }).execute();
  return seq;
}

/**
 * Whether an account may not add a pending submission. It may add one if it has fewer of them than the queue has free places. An account
 * without pending submissions may always add one, even if runs of judgements have filled the queue. If `maxPending` is 0, none may.
 * @param own the pending submissions of the account. @param depth the pending submissions of all accounts.
 */
function isFull(own: number, depth: number, maxPending: number): boolean {
  return maxPending === 0 || (own > 0 && own >= maxPending - depth);
}

/** The number of pending submissions of each account. The statement counts by key, because the index of the queue has no accounts. */
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

/** The number of pending submissions of all keys. The bound of the queue keeps it small, so counting is cheap. */
export async function countPending(trx: Pick<Transaction<Schema>, "selectFrom">): Promise<number> {
  const { pending } = await trx
    .selectFrom("submissions")
    .select((eb) => eb.fn.countAll<number>().as("pending"))
    .where("status", "=", sql.lit("pending"))
    .executeTakeFirstOrThrow();
  return Number(pending);
}
