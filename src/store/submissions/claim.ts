import { type Kysely, type RawBuilder, sql, type Transaction } from "kysely";
import { nextQueue, type OwnedQueue } from "../../fairness/turn.ts";
import type { Abilities } from "../database/database.ts";
import type { Row, Schema } from "../database/schema.ts";
import { countRunning, type KeyOfAccount, takeTurns } from "../queue/turns.ts";
import { claimedNetworks } from "./networks.ts";
import { loadPrograms } from "./programs.ts";
import { readProgress } from "./progress.ts";
import { SUBMISSION_COLUMNS, toSubmission } from "./rows.ts";
import { takesInput } from "./takes-input.ts";
import type { Claim, Lease } from "./types.ts";

export interface ClaimRequest {
  readonly workerId: string;
  readonly leaseUntilMs: number;
  readonly nowMs: number;
  readonly max: number;
  /** The most submissions to claim in addition, which the worker will start later. */
  readonly ahead: number;
  /** Accounts whose submissions are not claimed. */
  readonly barred: readonly string[];
  /** Whether the worker can give programs a network. Otherwise, submissions that ask for one are not claimed. */
  readonly givesNetworks: boolean;
}

export interface ClaimedSubmissions {
  readonly claims: Claim[];
  /** Whether pending submissions are left, even if they may only run later. */
  readonly more: boolean;
}

export async function claim(
  trx: Transaction<Schema>,
  { lock }: Pick<Abilities, "lock">,
  request: ClaimRequest,
): Promise<ClaimedSubmissions> {
  // One claim at a time: a concurrent claim would make the count of a key's running submissions wrong.
  await lock(trx, "claim");
  const { chosen, more } = await choose(trx, request);
  if (chosen.length === 0) return { claims: [], more };
  const seqs = chosen.map(({ seq }) => seq);
  const taken = await trx
    .updateTable("submissions")
    .set((eb) => ({
      status: "running",
      attempts: eb("attempts", "+", 1),
      fence: eb("fence", "+", 1),
      // A submission that has completed some of its runs keeps the start of its first run. A submission that was accepted while this claim
      // waited for its lock must not start before it was created.
      started_at: eb
        .case()
        .when("started_at", "is not", null)
        .then(eb.ref("started_at"))
        .when("created_at", ">", request.nowMs)
        .then(eb.ref("created_at"))
        .else(request.nowMs)
        .end(),
      worker_id: request.workerId,
      lease_until: request.leaseUntilMs,
    }))
    .where("seq", "in", seqs)
    .where("status", "=", sql.lit("pending")) // a judgement may have removed or ended a chosen run
    .returning("seq")
    .execute();
  if (taken.length === 0) return { claims: [], more };
  await takeTurns(trx, chosen);
  const rows = await trx
    .selectFrom("submissions")
    .leftJoin("foreign_submissions", "foreign_submissions.submission_seq", "submissions.seq")
    .select([...SUBMISSION_COLUMNS, "seq", "fence", "live", "takes_input", "judgement_seq", "test", "completed_runs"])
    .select(["api", "data", "reference"])
    .where(
      "seq",
      "in",
      taken.map(({ seq }) => seq),
    )
    .execute();
  const programs = await loadPrograms(trx, rows);
  const progress = await readProgress(trx, rows);
  const networks = request.givesNetworks
    ? await claimedNetworks(
        trx,
        rows.map(({ seq }) => seq),
      )
    : null;
  const place = new Map(seqs.map((seq, index) => [seq, index]));
  rows.sort((a, b) => (place.get(a.seq) ?? 0) - (place.get(b.seq) ?? 0));
  const claims = rows.flatMap((row) => {
    const loaded = programs.get(row.seq);
    if (!loaded) return [];
    return {
      ...loaded,
      submission: toSubmission(row, null),
      lease: { submissionId: row.id, workerId: request.workerId, fence: row.fence, attempt: row.attempts },
      live: row.live !== null,
      takesInput: takesInput(row),
      foreign:
        row.api === null || row.data === null ? null : { api: row.api, data: row.data, reference: row.reference },
      network: networks?.get(row.seq) ?? null,
      progress: progress.get(row.seq) ?? null,
    };
  });
  return { claims, more };
}

interface Chosen extends KeyOfAccount {
  readonly seq: number;
}

/** The queue of one key. Its `owner` is the account. */
interface KeyQueue extends OwnedQueue {
  readonly keyId: string;
  readonly turn: number;
  readonly concurrency: number;
  /** The sequence number of its oldest pending submission. */
  seq: number;
}

/** The queue whose turn it is (src/fairness/turn.ts). @returns undefined if every key has reached its concurrency, or none waits. */
function nextKey(queues: readonly KeyQueue[]): KeyQueue | undefined {
  const open = queues.filter(({ underWay, concurrency }) => underWay < concurrency);
  return nextQueue(open, (a, b) => a.turn - b.turn || a.seq - b.seq);
}

/** The next submissions in fair order. It looks up one submission of each waiting key, and further ones only of keys that are served. */
async function choose(
  trx: Transaction<Schema>,
  { max, ahead, barred, givesNetworks }: Pick<ClaimRequest, "max" | "ahead" | "barred" | "givesNetworks">,
) {
  const { queues: all, suspended } = await readQueues(trx, givesNetworks);
  const queues = all.filter(({ owner }) => !barred.includes(owner.id));
  const others = suspended || queues.length < all.length;
  const chosen: Chosen[] = [];
  /** For each served key, the submissions after its first one, which one statement reads. */
  const read = new Map<KeyQueue, number[]>();
  for (let left = max + ahead; left > 0; left--) {
    const next = nextKey(queues);
    if (!next) break;
    const { keyId, owner, seq } = next;
    chosen.push({ seq, keyId, accountId: owner.id });
    next.underWay++;
    owner.underWay++;
    const following = read.get(next) ?? (await readNext(trx, { keyId, seq, most: left, givesNetworks }));
    read.set(next, following);
    const [nextSeq] = following.splice(0, 1);
    if (nextSeq === undefined) queues.splice(queues.indexOf(next), 1);
    else next.seq = nextSeq;
  }
  const fitting = chosen.length > max ? max + (await countAhead(trx, chosen.slice(max))) : chosen.length;
  const more = queues.length > 0 || others || fitting < chosen.length;
  return { chosen: chosen.slice(0, fitting), more };
}

/** The most bytes of programs, tests and progress that one claim takes ahead: they are in memory until their submissions start. */
const AHEAD_BYTES = 8 * 1_048_576;

/**
 * How many of these submissions, from the first on, may be claimed before they can start. The count ends before the first one that is not
 * repeated after a crash of its worker, because it has the profile `agent` or takes input, and before the first one with which their bytes
 * exceed AHEAD_BYTES.
 */
async function countAhead(trx: Transaction<Schema>, chosen: readonly Chosen[]): Promise<number> {
  const seqs = chosen.map(({ seq }) => seq);
  const { rows } = await sql<
    Pick<Row<"submissions">, "seq" | "profile" | "live" | "takes_input"> & { bytes: number | string }
  >`
    select seq, profile, live, takes_input, coalesce((
      select octet_length(code) + octet_length(stdin) + coalesce(octet_length(additions), 0) from programs
      where submission_seq = submissions.seq
    ), 0) + coalesce((
      select octet_length(code) + coalesce(octet_length(additions), 0) + coalesce(octet_length(checker), 0)
      from judged_programs
      join judgements on judgements.seq = judgement_seq
      join versions on versions.seq = version_seq
      where judgement_seq = submissions.judgement_seq
    ), 0) + coalesce((
      select sum(octet_length(contents.bytes)) from judgements
      join version_contents on version_contents.version_seq = judgements.version_seq
      join contents on contents.seq = version_contents.content_seq
      where judgements.seq = submissions.judgement_seq and version_contents.test = submissions.test
    ), 0) + coalesce((
      select octet_length(body) from submission_progress
      where submission_seq = submissions.seq and submissions.completed_runs is not null
    ), 0) + coalesce((
      select octet_length(data) + coalesce(octet_length(reference), 0) from foreign_submissions
      where submission_seq = submissions.seq
    ), 0) as bytes
    from submissions where seq in (${sql.join(seqs)})`.execute(trx);
  const found = new Map(rows.map((row) => [Number(row.seq), row]));
  let bytes = 0;
  const first = seqs.findIndex((seq) => {
    const row = found.get(seq);
    bytes += Number(row?.bytes ?? 0);
    return row?.profile !== "judge" || takesInput(row) || bytes > AHEAD_BYTES;
  });
  return first < 0 ? seqs.length : first;
}

interface Head {
  readonly key_id: string;
  readonly seq: number;
}

/** The condition on pending submissions that a worker without networks can run. It looks up one key of a small table for each. */
const WITHOUT_NETWORK = sql`and not exists (
  select 1 from submission_networks where submission_networks.submission_seq = submissions.seq
)`;

/**
 * Selects the first pending submission of each key. The recursion goes from key to key in the index, and skips the other pending
 * submissions of a key: of 20,000 pending submissions of one key, it reads one row. The statement has no joins, and orders by pairs of
 * key and number: with old statistics of a small table, PostgreSQL read all submissions for a join, and chose the index on `seq` alone.
 * @param condition on the submissions that count. Of those that do not count, all that come first are read.
 */
const headsOf = (condition: RawBuilder<unknown>) => sql<Head>`
  with recursive keys (id) as (
    select (select key_id from submissions where status = 'pending' ${condition} order by key_id limit 1)
    union all
    select (
      select key_id from submissions where status = 'pending' and key_id > keys.id ${condition} order by key_id limit 1
    )
    from keys where keys.id is not null
  )
  select keys.id as key_id,
    (
      select seq from submissions where status = 'pending' and key_id >= keys.id ${condition} order by key_id, seq limit 1
    ) as seq
  from keys where keys.id is not null`;

export const HEADS = headsOf(sql``);
const HEADS_WITHOUT_NETWORK = headsOf(WITHOUT_NETWORK);

/** The most keys that one statement reads. */
const KEYS_AT_ONCE = 1_000;

/**
 * Whether a running submission may go on with its next run on its slot: it may if it would be next in fair order, had it waited in the
 * queue. The queue is read without locks, because the answer decides only who is served next.
 * @param givesNetworks whether the slot could serve submissions with a network.
 */
export async function isNext(
  db: Kysely<Schema>,
  lease: Pick<Lease, "submissionId" | "fence">,
  givesNetworks: boolean,
): Promise<boolean> {
  const own = await db
    .selectFrom("submissions")
    .select(["seq", "key_id", "account_id"])
    .where("id", "=", lease.submissionId)
    .where("fence", "=", lease.fence)
    .where("status", "=", sql.lit("running"))
    .executeTakeFirst();
  if (!own) return false; // the submission has been cancelled, or its lease was taken away
  const { queues } = await readQueues(db, givesNetworks, own);
  const queue = queues.find(({ keyId }) => keyId === own.key_id);
  if (!queue) return false; // the account has been suspended
  queue.underWay--;
  queue.owner.underWay--;
  return nextKey(queues) === queue && queue.seq === own.seq;
}

/**
 * Reads the queues of keys. @param givesNetworks whether submissions with a network count. @param also a submission that counts as if it were pending.
 * @returns the queues without those of suspended accounts; `suspended`: whether there are queues of suspended accounts.
 */
async function readQueues(
  db: Kysely<Schema>,
  givesNetworks: boolean,
  also?: { readonly key_id: string; readonly seq: number },
): Promise<{ queues: KeyQueue[]; suspended: boolean }> {
  const { rows: pending } = await (givesNetworks ? HEADS : HEADS_WITHOUT_NETWORK).execute(db);
  const rows = also ? withHead(pending, also) : pending;
  if (rows.length === 0) return { queues: [], suspended: false };
  const running = await countRunning(db);
  const ofKey = new Map(running.map(({ keyId, amount }) => [keyId, amount]));
  const ofAccount = new Map<string, number>();
  for (const { accountId: id, amount } of running) ofAccount.set(id, (ofAccount.get(id) ?? 0) + amount);
  const first = new Map(rows.map(({ key_id, seq }) => [key_id, seq]));
  const accounts = new Map<string, KeyQueue["owner"]>();
  const queues: KeyQueue[] = [];
  for (let at = 0; at < rows.length; at += KEYS_AT_ONCE) {
    const ids = rows.slice(at, at + KEYS_AT_ONCE).map(({ key_id }) => key_id);
    for (const key of await readKeys(db, ids)) {
      const { account_id: id, account_turn } = key;
      const owner = accounts.get(id) ?? { id, turn: account_turn, underWay: ofAccount.get(id) ?? 0 };
      accounts.set(id, owner);
      const { id: keyId, turn, tier_concurrency } = key;
      const concurrency = key.concurrency ?? tier_concurrency;
      queues.push({ keyId, turn, concurrency, underWay: ofKey.get(keyId) ?? 0, seq: first.get(keyId) ?? 0, owner });
    }
  }
  return { queues, suspended: queues.length < rows.length };
}

function withHead(heads: readonly Head[], also: Head): Head[] {
  const ownHead = heads.find(({ key_id }) => key_id === also.key_id);
  const first = { key_id: also.key_id, seq: Math.min(also.seq, Number(ownHead?.seq ?? also.seq)) };
  return [...heads.filter((head) => head !== ownHead), first];
}

async function readKeys(db: Kysely<Schema>, ids: readonly string[]) {
  return await db
    .selectFrom("api_keys")
    .innerJoin("accounts", "accounts.id", "api_keys.account_id")
    .innerJoin("tiers", "tiers.name", "accounts.tier")
    .select(["api_keys.id", "api_keys.turn", "api_keys.concurrency", "accounts.id as account_id"])
    .select(["accounts.turn as account_turn", "tiers.concurrency as tier_concurrency"])
    .where("api_keys.id", "in", ids)
    .where("accounts.suspended_at", "is", null)
    .execute();
}

/**
 * The pending submissions of a key after `seq`, oldest first. The statement compares pairs, like HEADS, so that PostgreSQL does not use
 * the index on `seq` alone.
 */
async function readNext(
  trx: Transaction<Schema>,
  {
    keyId,
    seq,
    most,
    givesNetworks,
  }: { readonly keyId: string; readonly seq: number; readonly most: number; readonly givesNetworks: boolean },
): Promise<number[]> {
  const { rows } = await sql<{ seq: number | string }>`
    select seq from submissions where status = 'pending'
    and (key_id, seq) > (${keyId}, ${seq}) and (key_id, seq) <= (${keyId}, ${Number.MAX_SAFE_INTEGER})
    ${givesNetworks ? sql`` : WITHOUT_NETWORK}
    order by key_id, seq limit ${most}`.execute(trx);
  return rows.map((row) => Number(row.seq));
}
