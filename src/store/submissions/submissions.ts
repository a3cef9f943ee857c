import type { AuditActor } from "../../domain/audit.ts";
import { HeartbeatMonitor } from "../../domain/heartbeat-monitor.ts";
import type { Outcome } from "../../domain/outcome.ts";
import type { Progress } from "../../domain/progress.ts";
import type { Samples } from "../../domain/samples.ts";
import type { Submission } from "../../domain/submission.ts";
import { addAuditEntry } from "../audit/audit.ts";
import { Batcher } from "../database/batcher.ts";
import type { Database } from "../database/database.ts";
import type { Notifier, StoreNotification } from "../database/notifier.ts";
import type { Transactions } from "../database/transactions.ts";
import { isNext } from "./claim.ts";
import { CompletionWaiters } from "./completion-waiters.ts";
import { countPending } from "./enqueue.ts";
import { type CheckedRun, cancel, type Finish, type Release, readRunning, repeat, sweep, yieldSlot } from "./lease.ts";
import { complete, type Head, readHeads, type Wanted } from "./read.ts";
import { readSamples } from "./samples.ts";
import type { Admit, Claim, Enqueue, Enqueued, Lease, Swept } from "./types.ts";

const WORK: StoreNotification = { kind: "work" };

export type SubmissionStore = ReturnType<typeof submissionStore>["store"];

/**
 * Submissions and their queue. Each method runs one transaction of the file with its name, and
 * sends notifications once it is durable.
 * @param now milliseconds since the epoch. @param steady monotonic milliseconds, as for Silence.
 */
export function submissionStore(
  database: Database,
  transactions: Transactions,
  wakeups: Notifier,
  now: () => number,
  steady: () => number,
) {
  const { db } = database;
  const { oneWriter } = database.abilities;
  /**
   * With one writer, transactions run in the order of their calls: a claim that this notification causes finds the work of
   * the transaction that is called next, and shares its commit. With several, the notification follows the commit.
   */
  const announceWork = () => oneWriter && wakeups.publish(WORK);
  /** With one writer: whether submissions may be pending, and how often some may have been added. */
  const queue = { more: true, added: 0 };
  if (oneWriter)
    wakeups.on("work", () => {
      queue.more = true;
      queue.added++;
    });
  const waits = new CompletionWaiters(wakeups);
  const holders = new HeartbeatMonitor(steady);
  const take = async (abandoned: Awaited<ReturnType<typeof readRunning>>): Promise<Swept> => {
    if (abandoned.length === 0) return { requeued: [], failed: [] };
    const { swept } = await transactions.run((trx) => sweep(trx, now(), abandoned), {
      notifications: ({ swept, notifications }) => [
        ...notifications,
        ...(swept.requeued.length + swept.failed.length > 0 ? [WORK] : []),
      ],
    });
    return swept;
  };
  const reads = new Batcher((wanted: readonly Wanted[]) => readHeads(db, wanted));
  const enqueues = new Batcher((requests: readonly Enqueue[]) => {
    announceWork();
    return transactions.call(
      "enqueue",
      { requests, nowMs: now() },
      {
        // A client may repeat a request after a lost response; the notification may have been lost as well.
        notifications: (results) =>
          !oneWriter && results.some((result) => "submission" in result && result.submission.status === "pending")
            ? [WORK]
            : [],
      },
    );
  });
  const finishes = new Batcher(async (group: readonly Finish[]) => {
    // The end of a run of a judgement starts others.
    if (queue.more || group.some(({ judged }) => judged !== null)) announceWork();
    const { held } = await transactions.call(
      "finish",
      { group, nowMs: now() },
      // The key of an ended run may run another one.
      {
        notifications: ({ notifications }) =>
          oneWriter || notifications.length === 0 ? notifications : [...notifications, WORK],
      },
    );
    return held;
  });
  const releases = new Batcher(async (requests: readonly Release[]) => {
    const { held } = await transactions.call(
      "release",
      { releases: requests, nowMs: now() },
      { notifications: ({ held, notifications }) => (held.includes(true) ? [...notifications, WORK] : []) },
    );
    return held;
  });
  const store = {
    enqueue: (request: Enqueue): Promise<Enqueued> => enqueues.add(request),

    /**
     * Claims up to `max` pending submissions: sets status `running` and `startedAtMs`, and leases them.
     * The order is fair between accounts (fewest running first, then least recently served), by the same rules between the
     * keys of an account, and oldest first within a key. It respects the concurrency of keys and skips suspended accounts.
     * @param leaseMs duration of the lease unless renewed. @param ahead most to claim in addition, which start later.
     * @param barred accounts of which it claims none.
     * @returns [] if no submission may run now.
     */
    async claim(
      workerId: string,
      leaseMs: number,
      max = 1,
      ahead = 0,
      barred: readonly string[] = [],
    ): Promise<Claim[]> {
      const nowMs = now();
      const { added } = queue;
      const { claims, more } = await transactions.call(
        "claim",
        { workerId, nowMs, leaseUntilMs: nowMs + leaseMs, max, ahead, barred },
        {
          notifications: ({ claims }) =>
            claims.filter(({ live }) => live).map(({ lease }) => ({ kind: "live", id: lease.submissionId })),
        },
      );
      if (queue.added === added) queue.more = more;
      return claims;
    },

    /**
     * Ends a submission as `error` with IE and the cause `cancelled`, and wakes its worker. @param actor of a person's change,
     * for the audit trail. @returns false if it has ended.
     */
    async cancel(id: string, accountId: string, actor?: AuditActor): Promise<boolean> {
      const done = await transactions.run(
        async (trx) => {
          // A claim chooses submissions before it updates them, so none may end in between.
          await database.abilities.lock(trx, "claim");
          const notifications = await cancel(trx, { id, accountId }, now());
          if (notifications && actor)
            await addAuditEntry(trx, {
              atMs: now(),
              actor,
              action: "submission.cancel",
              subject: id,
              accountId,
              detail: {},
            });
          return notifications;
        },
        { notifications: (notifications) => (notifications ? [...notifications, WORK] : []) },
      );
      return done !== undefined;
    },

    /**
     * Calls the listener when the submission has ended, and possibly at other times: it must read the status.
     * @returns a function that ends the subscription.
     */
    onEnd: (id: string, listener: () => void): (() => void) => wakeups.onEnd(id, listener),

    /**
     * Extends the lease by `leaseMs`: the heartbeat of its holder.
     * @returns false for a void lease: the caller stops the run.
     */
    renew(lease: Lease, leaseMs: number): Promise<boolean> {
      return transactions.call("renew", { lease, leaseUntilMs: now() + leaseMs });
    },

    /**
     * Stores the outcome and wakes waiters.
     * @param judged for a run of a judgement.
     * @returns false, without changes, for a void lease.
     */
    finish: (lease: Lease, outcome: Outcome, judged: CheckedRun | null = null): Promise<boolean> =>
      finishes.add({ lease, outcome, judged }),

    /**
     * Releases a claimed submission: `pending` again, without counting the attempt. Several keep the order of the calls.
     * An agent run that has begun becomes `error` instead, because it may have had outside effects.
     * @param begun whether code of the program may have run.
     * @returns false, without changes, for a void lease.
     */
    release: (lease: Lease, begun: boolean): Promise<boolean> => releases.add({ lease, begun }),

    /** Whether a claimed submission may go on with its next run: nobody who waits for a slot is before it in fair order. */
    isNext: (lease: Lease): Promise<boolean> => isNext(db, lease),

    /**
     * Gives up the slot between two runs of a submission: `pending` again, without counting the attempt, and the next claim
     * continues with this progress. @returns false, without changes, for a void lease.
     */
    yieldSlot(lease: Lease, progress: Progress): Promise<boolean> {
      return transactions.run((trx) => yieldSlot(trx, { lease, progress }), {
        notifications: (yielded) => (yielded ? [WORK] : []),
      });
    },

    /**
     * Requeues a run that the platform failed: `pending` again, and the attempt counts. Only for a
     * judge run, which has no outside effects, and while attempts are left.
     * @returns false, without changes, if this does not hold or the lease is void.
     */
    repeat(lease: Lease): Promise<boolean> {
      return transactions.run((trx) => repeat(trx, lease), { notifications: (repeated) => (repeated ? [WORK] : []) });
    },

    /**
     * Takes away leases that were not renewed for `leaseMs`, as observed by the calls of this method on this store: the
     * first call finds none, nor does a call later than a lease after the previous one. A judge run is requeued while
     * attempts are left, because it has no outside effects. An agent run may have had some and is never requeued.
     * All others end as `error`.
     */
    async sweep(leaseMs: number): Promise<Swept> {
      const running = await readRunning(db);
      const held = new Map(running.map(({ id, fence, lease_until }) => [id, `${fence} ${lease_until}`]));
      const silent = holders.observe(held, leaseMs);
      return await take(running.filter(({ id }) => silent.has(id)));
    },

    /** Ends or repeats all running submissions, for a caller that is certain that no holder is alive. */
    async sweepAll(): Promise<Swept> {
      return await take(await readRunning(db));
    },

    /**
     * @param admit awaited before a large output is read.
     * @returns undefined for an unknown id and for a submission of another account.
     */
    async get(id: string, accountId: string, admit?: Admit): Promise<Submission | undefined> {
      const head = await reads.add({ id, accountId });
      return head && (await complete(head, admit));
    },

    /** Reads a submission without a large output, which can then be read. */
    head: (id: string, accountId: string): Promise<Head | undefined> => reads.add({ id, accountId }),

    /**
     * Resolves with the submission once it is terminal, without polling, or with its present state
     * when `signal` aborts or the store closes.
     * @param admit awaited before a large output is read. @param accepted whether `enqueue` has just accepted it.
     */
    async whenTerminal(
      id: string,
      accountId: string,
      signal: AbortSignal,
      admit?: Admit,
      accepted = false,
    ): Promise<Submission | undefined> {
      // With several writers, another process may have ended it already.
      const known = accepted && oneWriter;
      const head = await waits.until(id, () => reads.add({ id, accountId }), signal, known);
      return head && (await complete(head, admit));
    },

    /** The samples of an ended run; null if it has none, undefined for an unknown id and for a submission of another account. */
    samples: (id: string, accountId: string): Promise<Samples | null | undefined> => readSamples(db, id, accountId),

    /** @returns pending submissions of all keys. */
    depth(): Promise<number> {
      return countPending(db);
    },
  };
  return { store, close: () => waits.close() };
}
