import { type Kysely, sql } from "kysely";
import type { Database } from "../database/database.ts";
import type { Notifier } from "../database/notifier.ts";
import type { Schema } from "../database/schema.ts";
import type { Transactions } from "../database/transactions.ts";
import { statusOf } from "../submissions/rows.ts";
import type { Lease } from "../submissions/types.ts";
import type { LiveMark, LiveOutput, LivePiece } from "./types.ts";

/** The most pieces that one read returns; readers read again. */
const MAX_PIECES = 64;

export type LiveStore = ReturnType<typeof liveStore>;

/**
 * The sequence number of the submission of a lease; undefined for a void lease.
 * @param locked whether to lock the row, so that the submission cannot end before this transaction commits: the end deletes live rows, and
 * those that are added after it would remain. A database with one writer needs no lock.
 */
export async function heldSeq(
  db: Kysely<Schema>,
  { submissionId, workerId, fence }: Lease,
  locked = false,
): Promise<number | undefined> {
  const held = await db
    .selectFrom("submissions")
    .select("seq")
    .$if(locked, (row) => row.forShare())
    .where("id", "=", submissionId)
    .where("worker_id", "=", workerId)
    .where("fence", "=", fence)
    .executeTakeFirst();
  return held?.seq;
}

/**
 * The output of runs that clients follow from another process than that of the worker (conversation/stored.ts). The worker adds it during a run,
 * and the end deletes it (submissions/outcomes.ts).
 */
export function liveStore({ db, abilities }: Database, transactions: Transactions, notifier: Notifier) {
  return {
    /**
     * Adds new output of a run. @param n the number of the first piece; the pieces of a run are numbered in their order.
     * @returns false, without changes, for a void lease.
     */
    append(lease: Lease, n: number, pieces: readonly LivePiece[]): Promise<boolean> {
      return transactions.runUnflushed(
        async (trx) => {
          const seq = await heldSeq(trx, lease, !abilities.oneWriter);
          if (seq === undefined) return false;
          const { fence } = lease;
          // Output of an earlier attempt, which was abandoned, does not belong to this attempt.
          await trx.deleteFrom("live_output").where("submission_seq", "=", seq).where("fence", "<", fence).execute();
          const rows = pieces.map((piece, at) => ({ ...piece, submission_seq: seq, fence, n: n + at }));
          await trx.insertInto("live_output").values(rows).execute();
          return true;
        },
        { notifications: (added) => (added ? [{ kind: "live", id: lease.submissionId }] : []) },
      );
    },

    /**
     * Reads output that a reader has not seen yet. @param seen the last piece that it has seen; null for none.
     * @param admit awaited with the number of bytes before output is read; if it returns false, no output is read.
     * @returns undefined for an unknown submission.
     */
    async readAfter(
      id: string,
      seen: LiveMark | null,
      admit: (bytes: number) => Promise<boolean> = async () => true,
    ): Promise<LiveOutput | undefined> {
      const submission = await db
        .selectFrom("submissions")
        .select(["seq", "status", "fence", "started_at"])
        .where("id", "=", id)
        .executeTakeFirst();
      if (!submission) return undefined;
      let pieces = db
        .selectFrom("live_output")
        .where("submission_seq", "=", submission.seq)
        .orderBy("fence")
        .orderBy("n")
        .limit(MAX_PIECES);
      if (seen) {
        pieces = pieces.where((eb) =>
          eb.or([eb("fence", ">", seen.fence), eb.and([eb("fence", "=", seen.fence), eb("n", ">", seen.n)])]),
        );
      }
      const status = statusOf(submission);
      const { fence } = submission;
      const sizes = await pieces.select(sql<number>`octet_length(bytes)`.as("size")).execute();
      if (sizes.length === 0) return { status, fence, pieces: [] };
      if (!(await admit(sizes.reduce((sum, { size }) => sum + Number(size), 0)))) {
        return { status, fence, pieces: [], isWithheld: true };
      }
      const read = await pieces.select(["fence", "n", "stream", "at", "bytes"]).limit(sizes.length).execute();
      return { status, fence, pieces: read } as LiveOutput;
    },

    /** Calls the listeners of `onChange` in this process: there is new output that the database does not have. */
    announce(id: string): void {
      notifier.publish({ kind: "live", id });
    },

    /**
     * Calls the listener when the submission may have started, have new output, or have ended.
     * @returns a function that ends the subscription.
     */
    onChange(id: string, listener: () => void): () => void {
      const unsubscribers = [notifier.onEnd(id, listener), notifier.onLive(id, listener)];
      return () => {
        for (const unsubscribe of unsubscribers) unsubscribe();
      };
    },
  };
}
