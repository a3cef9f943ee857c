import { claim } from "./claim.ts";
import type { Engine } from "./engine.ts";
import { countPending, enqueue } from "./enqueue.ts";
import { finish, release, renew, repeat, sweep } from "./lease.ts";
import type { SubmissionStore } from "./port.ts";
import { readSubmission } from "./read.ts";
import type { Transactions } from "./transactions.ts";
import { Waits } from "./waits.ts";
import type { Wakeups, Word } from "./wakeups.ts";

const WORK: Word = { kind: "work" };
const DELIVERIES: Word = { kind: "deliveries" };
const ended = (id: string): Word => ({ kind: "ended", id });

/**
 * Submissions and their queue. Each method is one transaction of the file that bears its
 * name; what is added here is which words it gives reason to say once it is durable.
 * @param now milliseconds since the epoch.
 */
export function submissionStore(
  engine: Engine,
  transactions: Transactions,
  wakeups: Wakeups,
  now: () => number,
): { readonly store: SubmissionStore; readonly close: () => Promise<void> } {
  const { db } = engine;
  const waits = new Waits(wakeups);
  const store: SubmissionStore = {
    enqueue(request) {
      return transactions.run((trx) => enqueue(trx, engine.abilities, request), {
        // Whoever asks again may do so because the answer was lost, and the word with it.
        words: (result) => ("submission" in result && result.submission.status === "pending" ? [WORK] : []),
      });
    },

    claim(workerId, leaseMs, max = 1) {
      return transactions.run((trx) => {
        const nowMs = now();
        return claim(trx, engine.abilities, { workerId, nowMs, leaseUntilMs: nowMs + leaseMs, max });
      });
    },

    renew(lease, leaseMs) {
      return transactions.run((trx) => renew(trx, lease, now() + leaseMs));
    },

    async finish(lease, outcome) {
      const finished = await transactions.run((trx) => finish(trx, lease, outcome, now()), {
        words: (finished) =>
          finished ? [ended(lease.submissionId), WORK, ...(finished.delivers ? [DELIVERIES] : [])] : [],
      });
      return finished !== undefined;
    },

    async release(lease, begun) {
      const released = await transactions.run((trx) => release(trx, lease, begun, now()), {
        words: (released) => {
          if (!released) return [];
          const { became, delivers } = released;
          return [...(became === "failed" ? [ended(lease.submissionId)] : []), WORK, ...(delivers ? [DELIVERIES] : [])];
        },
      });
      return released !== undefined;
    },

    repeat(lease) {
      return transactions.run((trx) => repeat(trx, lease), { words: (repeated) => (repeated ? [WORK] : []) });
    },

    async sweep(which = "expired") {
      const { delivers: _, ...swept } = await transactions.run((trx) => sweep(trx, now(), which), {
        words: ({ requeued, failed, delivers }) => [
          ...failed.map(ended),
          ...(requeued.length + failed.length > 0 ? [WORK] : []),
          ...(delivers ? [DELIVERIES] : []),
        ],
      });
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

    whenTerminal(id, accountId, signal) {
      return waits.until(id, () => readSubmission(db, id, accountId), signal);
    },

    depth() {
      return countPending(db);
    },
  };
  return { store, close: () => waits.close() };
}
