import { sql, type Transaction } from "kysely";
import type { Abilities } from "./engine.ts";
import type { Claim } from "./port.ts";
import { SUBMISSION_COLUMNS, toSubmission } from "./rows.ts";
import type { Schema } from "./schema.ts";

export interface ClaimRequest {
  readonly workerId: string;
  readonly leaseUntilMs: number;
  readonly nowMs: number;
  readonly max: number;
}

export async function claim(
  trx: Transaction<Schema>,
  { lock }: Pick<Abilities, "lock">,
  request: ClaimRequest,
): Promise<Claim[]> {
  // One after the other: a key's running submissions can only be counted while nobody adds to them.
  await lock(trx, "claim");
  const chosen = await choose(trx, request.max);
  if (chosen.length === 0) return [];
  const seqs = chosen.map(({ seq }) => seq);
  await trx
    .updateTable("submissions")
    .set((eb) => ({
      status: "running",
      attempts: eb("attempts", "+", 1),
      fence: eb("fence", "+", 1),
      started_at: request.nowMs,
      worker_id: request.workerId,
      lease_until: request.leaseUntilMs,
    }))
    .where("seq", "in", seqs)
    .execute();
  await takeTurns(
    trx,
    chosen.map(({ key_id }) => key_id),
  );
  const rows = await trx
    .selectFrom("submissions")
    .innerJoin("programs", "programs.submission_seq", "submissions.seq")
    .select([...SUBMISSION_COLUMNS, "seq", "fence", "live", "code", "stdin"])
    .where("seq", "in", seqs)
    .execute();
  const place = new Map(seqs.map((seq, index) => [seq, index]));
  rows.sort((a, b) => (place.get(a.seq) ?? 0) - (place.get(b.seq) ?? 0));
  return rows.map((row) => ({
    submission: toSubmission(row, null),
    program: { code: row.code, stdin: row.stdin },
    lease: { submissionId: row.id, workerId: request.workerId, fence: row.fence, attempt: row.attempts },
    live: row.live === 1,
  }));
}

/**
 * The next submissions, fairest first. `place` is how many a key would have running with this
 * one: it may not exceed the key's concurrency, and the lowest goes first, so that a key with
 * a thousand waiting delays one with a single submission by one run at most. Between equals,
 * the key that was served longest ago.
 */
async function choose(trx: Transaction<Schema>, max: number): Promise<{ seq: number; key_id: string }[]> {
  const { rows } = await sql<{ seq: number; key_id: string }>`
    with running as (
      select key_id, count(*) as amount from submissions where status = 'running' group by key_id
    ),
    waiting as (
      select seq, key_id, row_number() over (partition by key_id order by seq) as position
      from submissions where status = 'pending'
    )
    select waiting.seq, waiting.key_id
    from waiting
    join api_keys on api_keys.id = waiting.key_id
    join accounts on accounts.id = api_keys.account_id
    join tiers on tiers.name = accounts.tier
    left join running on running.key_id = waiting.key_id
    where coalesce(running.amount, 0) + waiting.position <= coalesce(api_keys.concurrency, tiers.concurrency)
    order by coalesce(running.amount, 0) + waiting.position, api_keys.turn, waiting.seq
    limit ${max}`.execute(trx);
  return rows;
}

async function takeTurns(trx: Transaction<Schema>, keyIds: readonly string[]): Promise<void> {
  await trx
    .updateTable("api_keys")
    .set({ turn: sql`(select max(turn) + 1 from api_keys)` })
    .where("id", "in", [...new Set(keyIds)])
    .execute();
}
