import { sql, type Transaction } from "kysely";
import type { Abilities } from "./engine.ts";
import type { Claim } from "./port.ts";
import { SUBMISSION_COLUMNS, toSubmission } from "./rows.ts";
import type { Schema } from "./schema.ts";
import { fairest, type Queue } from "./share.ts";

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
  // One claim at a time: the running submissions of a key can only be counted while no other claim adds to them.
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
    "api_keys",
    chosen.map(({ keyId }) => keyId),
  );
  await takeTurns(
    trx,
    "accounts",
    chosen.map(({ accountId }) => accountId),
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

interface Chosen {
  readonly seq: number;
  readonly keyId: string;
  readonly accountId: string;
}

/** The next submissions, fairest first (share.ts). Costs one look-up for each key that waits, however long its queue is. */
async function choose(trx: Transaction<Schema>, max: number): Promise<Chosen[]> {
  const queues = await readQueues(trx);
  const chosen: Chosen[] = [];
  while (chosen.length < max) {
    const next = fairest(queues);
    if (!next) break;
    const { keyId, account, seq } = next;
    chosen.push({ seq, keyId, accountId: account.id });
    next.running++;
    account.running++;
    const following = chosen.length < max ? await readNext(trx, keyId, seq) : undefined;
    if (following === undefined) queues.splice(queues.indexOf(next), 1);
    else next.seq = following;
  }
  return chosen;
}

interface Head {
  readonly seq: number;
  readonly key_id: string;
  readonly key_turn: number;
  readonly concurrency: number;
  readonly account_id: string;
  readonly account_turn: number;
}

/**
 * The queue of each key that has pending submissions, unless its account is suspended. The recursion goes from the first
 * submission of one key to the first of the next by the index, past all that wait behind it: with 20,000 pending of one
 * key it reads one row. Ordered by the pair, so that no plan can go by the numbers alone, through every record.
 */
async function readQueues(trx: Transaction<Schema>): Promise<Queue[]> {
  const { rows: heads } = await sql<Head>`
    with recursive heads (seq, key_id) as (
      select seq, key_id from (
        select seq, key_id from submissions where status = 'pending' order by key_id, seq limit 1
      ) as first
      union all
      select next.seq, next.key_id from heads join submissions as next on next.seq = (
        select later.seq from submissions as later
        where later.status = 'pending' and later.key_id > heads.key_id order by later.key_id, later.seq limit 1
      )
    )
    select heads.seq, heads.key_id, api_keys.turn as key_turn, accounts.id as account_id, accounts.turn as account_turn,
      coalesce(api_keys.concurrency, tiers.concurrency) as concurrency
    from heads
    join api_keys on api_keys.id = heads.key_id
    join accounts on accounts.id = api_keys.account_id
    join tiers on tiers.name = accounts.tier
    where accounts.suspended_at is null`.execute(trx);
  if (heads.length === 0) return [];
  const { rows: running } = await sql<{ key_id: string; account_id: string; amount: number | string }>`
    select api_keys.id as key_id, api_keys.account_id, counted.amount
    from (select key_id, count(*) as amount from submissions where status = 'running' group by key_id) as counted
    join api_keys on api_keys.id = counted.key_id`.execute(trx);
  const ofKey = new Map(running.map(({ key_id, amount }) => [key_id, Number(amount)]));
  const accounts = new Map<string, Queue["account"]>();
  for (const { account_id: id, account_turn: turn } of heads) accounts.set(id, { id, turn, running: 0 });
  for (const { account_id, amount } of running) {
    const account = accounts.get(account_id);
    if (account) account.running += Number(amount);
  }
  return heads.flatMap(({ seq, key_id: keyId, key_turn: turn, concurrency, account_id }) => {
    const account = accounts.get(account_id);
    return account ? [{ keyId, turn, concurrency, running: ofKey.get(keyId) ?? 0, seq, account }] : [];
  });
}

/** As pairs for the same reason. @returns the submission of the key that waits behind that one. */
async function readNext(trx: Transaction<Schema>, keyId: string, seq: number): Promise<number | undefined> {
  const row = await trx
    .selectFrom("submissions")
    .select("seq")
    .where("status", "=", sql.lit("pending"))
    .where(sql<boolean>`(key_id, seq) > (${keyId}, ${seq}) and (key_id, seq) <= (${keyId}, ${Number.MAX_SAFE_INTEGER})`)
    .orderBy("key_id")
    .orderBy("seq")
    .limit(1)
    .executeTakeFirst();
  return row?.seq;
}

/** @param ids in the order in which they were served, perhaps several times. The last gets the highest turn. */
async function takeTurns(trx: Transaction<Schema>, table: "api_keys" | "accounts", ids: readonly string[]) {
  const served = new Map(ids.map((id, at) => [id, at + 1]));
  const places = [...served].map(([id, at]) => sql`when ${id} then ${sql.lit(at)}`);
  await sql`update ${sql.table(table)}
    set turn = (select max(turn) from ${sql.table(table)}) + case id ${sql.join(places, sql` `)} end
    where id in (${sql.join([...served.keys()])})`.execute(trx);
}
