import { HeartbeatMonitor } from "../../domain/heartbeat-monitor.ts";
import { Batcher } from "../engine/batcher.ts";
import type { Engine } from "../engine/engine.ts";
import type { Notifier, StoreEvent } from "../engine/notifier.ts";
import type { Transactions } from "../engine/transactions.ts";
import { CompletionWaiters } from "./completion-waiters.ts";
import { countPending } from "./enqueue.ts";
import { type Finish, readRunning, release, repeat, sweep } from "./lease.ts";
import type { Enqueue, SubmissionStore, Swept } from "./port.ts";
import { complete, readHeads, type Wanted } from "./read.ts";

const WORK: StoreEvent = { kind: "work" };
const DELIVERIES: StoreEvent = { kind: "deliveries" };
const ended = (id: string): StoreEvent => ({ kind: "ended", id });

/**
 * Submissions and their queue. Each method runs one transaction of the file with its name, and
 * sends notifications once it is durable.
 * @param now milliseconds since the epoch. @param steady monotonic milliseconds, as for Silence.
 */
export function submissionStore(
  engine: Engine,
  transactions: Transactions,
  wakeups: Notifier,
  now: () => number,
  steady: () => number,
): { readonly store: SubmissionStore; readonly close: () => Promise<void> } {
  const { db } = engine;
  const waits = new CompletionWaiters(wakeups);
  const holders = new HeartbeatMonitor(steady);
  const take = async (abandoned: Awaited<ReturnType<typeof readRunning>>): Promise<Swept> => {
    if (abandoned.length === 0) return { requeued: [], failed: [] };
    const { delivers: _, ...swept } = await transactions.run((trx) => sweep(trx, now(), abandoned), {
      words: ({ requeued, failed, delivers }) => [
        ...failed.map(ended),
        ...(requeued.length + failed.length > 0 ? [WORK] : []),
        ...(delivers ? [DELIVERIES] : []),
      ],
    });
    return swept;
  };
  const reads = new Batcher((wanted: readonly Wanted[]) => readHeads(db, wanted));
  const enqueues = new Batcher((requests: readonly Enqueue[]) =>
    transactions.call(
      "enqueue",
      { requests, nowMs: now() },
      {
        // A client may repeat a request after a lost response; the notification may have been lost as well.
        words: (results) =>
          results.some((result) => "submission" in result && result.submission.status === "pending") ? [WORK] : [],
      },
    ),
  );
  const finishes = new Batcher(async (group: readonly Finish[]) => {
    const results = await transactions.call(
      "finish",
      { group, nowMs: now() },
      {
        words: (finished) => {
          const over = group.filter((_, at) => finished[at]).map(({ lease }) => ended(lease.submissionId));
          if (over.length === 0) return [];
          return [...over, WORK, ...(finished.some((one) => one?.delivers) ? [DELIVERIES] : [])];
        },
      },
    );
    return results.map((finished) => finished !== undefined);
  });
  const store: SubmissionStore = {
    enqueue: (request) => enqueues.add(request),

    claim(workerId, leaseMs, max = 1) {
      const nowMs = now();
      return transactions.call(
        "claim",
        { workerId, nowMs, leaseUntilMs: nowMs + leaseMs, max },
        {
          words: (claims) =>
            claims.filter(({ live }) => live).map(({ lease }) => ({ kind: "live", id: lease.submissionId })),
        },
      );
    },

    renew(lease, leaseMs) {
      return transactions.call("renew", { lease, leaseUntilMs: now() + leaseMs });
    },

    finish: (lease, outcome) => finishes.add({ lease, outcome }),

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

    async sweep(leaseMs) {
      const running = await readRunning(db);
      const held = new Map(running.map(({ id, fence, lease_until }) => [id, `${fence} ${lease_until}`]));
      const silent = holders.look(held, leaseMs);
      return await take(running.filter(({ id }) => silent.has(id)));
    },

    async sweepAll() {
      return await take(await readRunning(db));
    },

    async get(id, accountId, admit) {
      const head = await reads.add({ id, accountId });
      return head && (await complete(head, admit));
    },

    async whenTerminal(id, accountId, signal, admit) {
      const head = await waits.until(id, () => reads.add({ id, accountId }), signal);
      return head && (await complete(head, admit));
    },

    depth() {
      return countPending(db);
    },
  };
  return { store, close: () => waits.close() };
}
