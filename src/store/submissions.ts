import { isTerminal } from "../domain/submission.ts";
import { claim } from "./claim.ts";
import type { Engine } from "./engine.ts";
import { countPending, enqueue } from "./enqueue.ts";
import { finish, release, renew, sweep } from "./lease.ts";
import type { SubmissionStore } from "./port.ts";
import { readSubmission } from "./read.ts";
import type { Transactions } from "./transactions.ts";
import type { Wakeups } from "./wakeups.ts";

/**
 * Submissions and their queue. Each method is one transaction of the file that bears its
 * name; what is added here is who has to be woken once it is durable.
 * @param now milliseconds since the epoch.
 */
export function submissionStore(
  { db }: Engine,
  transactions: Transactions,
  wakeups: Wakeups,
  now: () => number,
): SubmissionStore {
  const store: SubmissionStore = {
    async enqueue(request) {
      const result = await transactions.run((trx) => enqueue(trx, request));
      if (result.kind === "enqueued") wakeups.work();
      return result;
    },

    claim(workerId, leaseMs, max = 1) {
      const nowMs = now();
      return transactions.run((trx) => claim(trx, { workerId, nowMs, leaseUntilMs: nowMs + leaseMs, max }));
    },

    renew(lease, leaseMs) {
      return transactions.run((trx) => renew(trx, lease, now() + leaseMs));
    },

    async finish(lease, outcome) {
      const finished = await transactions.run((trx) => finish(trx, lease, outcome, now()));
      if (finished) {
        wakeups.ended(lease.submissionId);
        wakeups.work();
        if (finished.delivers) wakeups.deliveries();
      }
      return finished !== undefined;
    },

    async release(lease, begun) {
      const released = await transactions.run((trx) => release(trx, lease, begun, now()));
      if (released?.became === "failed") wakeups.ended(lease.submissionId);
      if (released) wakeups.work();
      if (released?.delivers) wakeups.deliveries();
      return released !== undefined;
    },

    async sweep() {
      const { delivers, ...swept } = await transactions.run((trx) => sweep(trx, now()));
      for (const id of swept.failed) wakeups.ended(id);
      if (swept.requeued.length + swept.failed.length > 0) wakeups.work();
      if (delivers) wakeups.deliveries();
      return swept;
    },

    async nextExpiryMs() {
      const { next } = await db
        .selectFrom("submissions")
        .select((eb) => eb.fn.min("lease_until").as("next"))
        .where("status", "=", "running")
        .executeTakeFirstOrThrow();
      return next;
    },

    get(id, accountId) {
      return readSubmission(db, id, accountId);
    },

    async whenTerminal(id, accountId, signal) {
      // Subscribed before the first look, so an end in between is not missed.
      const woken = Promise.withResolvers<void>();
      const unsubscribe = wakeups.onEnd(id, woken.resolve);
      const stop = () => woken.resolve();
      signal.addEventListener("abort", stop, { once: true });
      try {
        const submission = await readSubmission(db, id, accountId);
        if (!submission || isTerminal(submission.status) || signal.aborted) return submission;
        await woken.promise;
        return await readSubmission(db, id, accountId);
      } finally {
        unsubscribe();
        signal.removeEventListener("abort", stop);
      }
    },

    depth() {
      return countPending(db);
    },
  };
  return store;
}
