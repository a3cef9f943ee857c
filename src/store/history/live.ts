import type { Engine } from "../engine/engine.ts";
import type { Notifier } from "../engine/notifier.ts";
import type { Transactions } from "../engine/transactions.ts";
import type { LiveLook, LiveStore } from "./port.ts";

/** Maximum number of pieces per read; readers read again. */
const MAX_PIECES = 64;

/** Live output: rows that workers add during a run and its end deletes (lease.ts). */
export function liveStore({ db }: Engine, transactions: Transactions, wakeups: Notifier): LiveStore {
  return {
    append({ submissionId, workerId, fence }, n, pieces) {
      return transactions.runAsyncCommit(
        async (trx) => {
          const held = await trx
            .selectFrom("submissions")
            .select("seq")
            .where("id", "=", submissionId)
            .where("worker_id", "=", workerId)
            .where("fence", "=", fence)
            .executeTakeFirst();
          if (!held) return false;
          const { seq } = held;
          // Output of an abandoned attempt does not belong to this one.
          await trx.deleteFrom("live_output").where("submission_seq", "=", seq).where("fence", "<", fence).execute();
          const rows = pieces.map((piece, at) => ({ ...piece, submission_seq: seq, fence, n: n + at }));
          await trx.insertInto("live_output").values(rows).execute();
          return true;
        },
        { words: (added) => (added ? [{ kind: "live", id: submissionId }] : []) },
      );
    },

    async look(id, seen) {
      const submission = await db
        .selectFrom("submissions")
        .select(["seq", "status"])
        .where("id", "=", id)
        .executeTakeFirst();
      if (!submission) return undefined;
      let pieces = db
        .selectFrom("live_output")
        .select(["fence", "n", "stream", "at", "bytes"])
        .where("submission_seq", "=", submission.seq)
        .orderBy("fence")
        .orderBy("n")
        .limit(MAX_PIECES);
      if (seen) {
        pieces = pieces.where((eb) =>
          eb.or([eb("fence", ">", seen.fence), eb.and([eb("fence", "=", seen.fence), eb("n", ">", seen.n)])]),
        );
      }
      return { status: submission.status, pieces: await pieces.execute() } as LiveLook;
    },

    onChange(id, listener) {
      const ends = [wakeups.onEnd(id, listener), wakeups.onLive(id, listener)];
      return () => {
        for (const end of ends) end();
      };
    },
  };
}
