import { sql, type Transaction } from "kysely";
import type { AuditActor } from "../../domain/audit.ts";
import { internalError } from "../../domain/outcome.ts";
import type { Shares } from "../../domain/status.ts";
import { addAuditEntry } from "../audit/audit.ts";
import type { Database } from "../database/database.ts";
import type { StoreNotification } from "../database/notifier.ts";
import type { Schema } from "../database/schema.ts";
import type { Transactions } from "../database/transactions.ts";
import { lockJudgements, stopJudgement } from "../judgements/advance.ts";
import { readShares } from "../queue/shares.ts";
import { end } from "./end.ts";
import { ENDED_COLUMNS, endedBy } from "./outcomes.ts";
import type { Whose } from "./types.ts";

const DROPPED = internalError("dropped by the operator before it ran");

export type QueueStore = ReturnType<typeof queueStore>;

/** The queue as operators see and change it. @param now milliseconds since the epoch. */
export function queueStore({ db, abilities }: Database, transactions: Transactions, now: () => number) {
  return {
    /**
     * Adds an audit entry for a drop of the pending submissions of an account or key.
     * @returns the sequence number of the newest submission, which is `last` for `drop`: later submissions stay.
     */
    beginDrop(whose: Whose, actor: AuditActor): Promise<number> {
      return transactions.run(async (trx) => {
        const { pending } = await trx
          .selectFrom("submissions")
          .where(waitsOf(whose))
          .select((eb) => eb.fn.countAll<number | string>().as("pending"))
          .executeTakeFirstOrThrow();
        const { last } = await trx
          .selectFrom("submissions")
          .select((eb) => eb.fn.max("seq").as("last"))
          .executeTakeFirstOrThrow();
        const { accountId, keyId } = whose;
        const action = keyId === undefined ? "account.drop-pending" : "key.drop-pending";
        const detail = { pending: Number(pending) };
        await addAuditEntry(trx, { atMs: now(), actor, action, subject: keyId ?? accountId, accountId, detail });
        return last ?? 0;
      });
    },

    /**
     * Ends up to `max` pending submissions, and up to `max` judgements, with the status `error` and the verdict IE, and adds their
     * deliveries to the outbox. @param last the sequence number of the last submission to drop.
     * @returns how many it has ended; 0 if none up to `last` is left.
     */
    drop(whose: Whose, last: number, max: number): Promise<number> {
      return transactions
        .run(
          async (trx) => {
            // A claim chooses submissions before it updates them. In between, no submission may end.
            await abilities.lock(trx, "claim");
            return await dropSome(trx, whose, { last, max, nowMs: now() });
          },
          {
            notifications: ({ notifications }) => notifications,
          },
        )
        .then(({ dropped }) => dropped);
    },

    /** How much of the shared resources each account uses now. @param max the most accounts to return. */
    shares: (max: number): Promise<Shares> => readShares(db, max, now()),
  };
}

async function dropSome(
  trx: Transaction<Schema>,
  whose: Whose,
  { last, max, nowMs }: { readonly last: number; readonly max: number; readonly nowMs: number },
): Promise<{ readonly dropped: number; readonly notifications: readonly StoreNotification[] }> {
  const chosen = await trx
    .selectFrom("submissions")
    .where(waitsOf(whose))
    .where("seq", "<=", last)
    .select(["seq", "judgement_seq"])
    .orderBy("key_id")
    .orderBy("seq")
    .limit(max)
    .execute();
  const open = await openJudgements(trx, whose, last, max);
  if (chosen.length + open.length === 0) return { dropped: 0, notifications: [] };
  const judgements = await lockJudgements(trx, [...open, ...chosen.map((row) => row.judgement_seq)]);
  const seqs = chosen.length > 0 ? chosen.map(({ seq }) => seq) : [0]; // SQL has no empty lists
  const rows = await trx
    .updateTable("submissions")
    .set(endedBy(DROPPED, nowMs))
    .where("seq", "in", seqs)
    .where("status", "=", sql.lit("pending"))
    .returning(ENDED_COLUMNS)
    .execute();
  const endings = rows.map((row) => ({ row, outcome: DROPPED }));
  const notifications = await end(trx, endings, judgements, nowMs);
  // The judgements that are still open have only running runs, after which they would start further runs.
  const left = await lockJudgements(trx, open);
  for (const judgement of left) notifications.push(...(await stopJudgement(trx, judgement, nowMs)));
  return { dropped: rows.length + left.length, notifications };
}

/** The judgements of the account or key that have not ended and have a submission up to `last`. */
async function openJudgements(
  trx: Transaction<Schema>,
  { accountId, keyId }: Whose,
  last: number,
  max: number,
): Promise<number[]> {
  const keys = keyId === undefined ? sql`(select id from api_keys where account_id = ${accountId})` : sql`(${keyId})`;
  const rows = await trx
    .selectFrom("judgements")
    .select("seq")
    .where("completed_at", "is", null)
    .where(sql<boolean>`key_id in ${keys}`)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom("submissions")
          .select("submissions.seq")
          .whereRef("judgement_seq", "=", "judgements.seq")
          .where("submissions.seq", "<=", last),
      ),
    )
    .orderBy("key_id")
    .orderBy("seq")
    .limit(max)
    .execute();
  return rows.map(({ seq }) => seq);
}

/**
 * The condition for pending submissions of the account or key. It selects by key, because the index of pending submissions has keys,
 * but no accounts.
 */
function waitsOf({ accountId, keyId }: Whose) {
  if (keyId !== undefined) return sql<boolean>`status = 'pending' and key_id = ${keyId}`;
  return sql<boolean>`status = 'pending' and key_id in (select id from api_keys where account_id = ${accountId})`;
}
