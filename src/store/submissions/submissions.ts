import type { AuditActor } from "../../domain/audit.ts";
import type { EgressRecord } from "../../domain/egress/egress-record.ts";
import { HeartbeatMonitor } from "../../domain/heartbeat-monitor.ts";
import type { Outcome } from "../../domain/outcome.ts";
import type { Progress } from "../../domain/progress.ts";
import type { Samples } from "../../domain/samples.ts";
import type { Submission } from "../../domain/submission.ts";
import { addAuditEntry } from "../audit/audit.ts";
import { Batcher } from "../database/batcher.ts";
import type { Database } from "../database/database.ts";
import type { Notifier, StoreNotification } from "../database/notifier.ts";
import type { AddOptions, Transactions } from "../database/transactions.ts";
import { OPERATIONS } from "../operations.ts";
import { isNext } from "./claim.ts";
import { CompletionWaiters } from "./completion-waiters.ts";
import { countPending } from "./enqueue.ts";
import {
  type CheckedRun,
  cancel,
  type Finish,
  type ReleasedLease,
  readRunning,
  requeue,
  sweep,
  yieldSlot,
} from "./lease.ts";
import { readNetwork, type SubmissionNetwork, storeEgress } from "./networks.ts";
import { complete, type Head, type ReadRequest, readCompileOutput, readHeads } from "./read.ts";
import { readSamples } from "./samples.ts";
import type { Claim, Enqueue, Enqueued, Lease, ReserveMemory, Swept } from "./types.ts";

const WORK: StoreNotification = { kind: "work" };
const ADDED: StoreNotification = { kind: "added" };

export type SubmissionStore = ReturnType<typeof submissionStore>["store"];

/**
 * Submissions and their queue. Other files of this folder have the statements. This file runs them in transactions, and sends
 * notifications once a transaction is durable, except for work with one writer (`announceWork`).
 * @param now milliseconds since the epoch. @param steady milliseconds of a monotonic clock.
 */
export function submissionStore(
  database: Database,
  transactions: Transactions,
  notifier: Notifier,
  now: () => number,
  steady: () => number,
) {
  const { db } = database;
  const { oneWriter } = database.abilities;
  /**
   * Announces work before the call that adds it. With one writer, work is committed in the order of the calls. The claim that the
   * notification causes comes directly after the work: it finds the work, and both share one commit. With several writers, this function
   * does nothing, and the notification follows the commit.
   */
  const announceWork = () => oneWriter && notifier.publish(WORK);
  /** Used with one writer only. `more`: whether submissions may be pending. `added`: how often work has been announced. */
  const queue = { more: true, added: 0 };
  if (oneWriter)
    notifier.on("work", () => {
      queue.more = true;
      queue.added++;
    });
  const waits = new CompletionWaiters(notifier);
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
  const reads = new Batcher((wanted: readonly ReadRequest[]) => readHeads(db, wanted));
  const enqueue = transactions.group({
    operation: OPERATIONS.enqueue,
    asked: (requests: readonly Enqueue[]) => ({ requests, nowMs: now() }),
    answers: (results) => results,
    // A known submission is announced as well: if the response to its first request was lost, its notification may have been, too.
    notifications: (results) =>
      results.some((result) => "submission" in result && result.submission.status === "pending")
        ? [oneWriter ? ADDED : WORK]
        : [],
  });
  const finish = transactions.group({
    operation: OPERATIONS.finish,
    asked: (group: readonly Finish[]) => ({ group, nowMs: now() }),
    answers: ({ valid }) => valid,
    // After the end of a run, its key may run another submission.
    notifications: ({ notifications }) =>
      oneWriter || notifications.length === 0 ? notifications : [...notifications, WORK],
  });
  const release = transactions.group({
    operation: OPERATIONS.release,
    asked: (releases: readonly ReleasedLease[]) => ({ releases, nowMs: now() }),
    answers: ({ valid }) => valid,
    notifications: ({ valid, notifications }) => (valid.includes(true) ? [...notifications, WORK] : []),
  });
  const store = {
    /** Accepts a submission, or returns the reason for its refusal (enqueue.ts). */
    enqueue(request: Enqueue): Promise<Enqueued> {
      announceWork();
      return enqueue(request);
    },

    /**
     * Claims up to `max` pending submissions: they become `running` and get a lease and, unless they have completed some of their runs, `startedAtMs`.
     * The order is fair between accounts (fewest running first, then least recently served), by the same rules between the
     * keys of an account, and oldest first within a key. A claim respects the concurrency of keys, and skips suspended accounts.
     * @param leaseMs how long the lease lasts unless it is renewed.
     * @param ahead how many submissions to claim in addition, which the worker will start later.
     * @param barred accounts whose submissions are not claimed.
     * @param givesNetworks whether the worker can give programs a network: otherwise, submissions with one are left to other workers.
     * @returns [] if no submission may run now.
     */
    async claim(
      workerId: string,
      leaseMs: number,
      max = 1,
      ahead = 0,
      barred: readonly string[] = [],
      givesNetworks = false,
    ): Promise<Claim[]> {
      const nowMs = now();
      const { added } = queue;
      const { claims, more } = await transactions.call(
        OPERATIONS.claim,
        { workerId, nowMs, leaseUntilMs: nowMs + leaseMs, max, ahead, barred, givesNetworks },
        {
          notifications: ({ claims }) =>
            claims.filter(({ live }) => live).map(({ lease }) => ({ kind: "live", id: lease.submissionId })),
        },
      );
      if (queue.added === added) queue.more = more;
      return claims;
    },

    /**
     * Ends a submission with the status `error`, the verdict IE and the cause `cancelled`, and wakes its worker.
     * @param actor for an audit entry; undefined for a client with a key, which causes no entry.
     * @returns false, without changes, if the submission has ended, or the account has no such submission.
     */
    async cancel(id: string, accountId: string, actor?: AuditActor): Promise<boolean> {
      const done = await transactions.run(
        async (trx) => {
          // A claim chooses submissions before it updates them. In between, no request may cancel one of them.
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
     * Calls the listener when the submission has ended, and possibly at other times: the listener must read the status.
     * @returns a function that ends the subscription.
     */
    onEnd: (id: string, listener: () => void): (() => void) => notifier.onEnd(id, listener),

    /**
     * The heartbeat of the holder of a lease: the lease now lasts until `leaseMs` from now.
     * @returns false for a void lease, after which the caller stops the run.
     */
    renew(lease: Lease, leaseMs: number): Promise<boolean> {
      return transactions.call(OPERATIONS.renew, { lease, leaseUntilMs: now() + leaseMs });
    },

    /**
     * Ends a submission with its outcome, and wakes those that wait for its end.
     * @param judged what the judgement needs of one of its runs; null for a single submission.
     * @param options whether it may wait for the ends of other runs.
     * @returns false, without changes, for a void lease.
     */
    finish(lease: Lease, outcome: Outcome, judged: CheckedRun | null = null, options?: AddOptions): Promise<boolean> {
      // The end of a run of a judgement adds further runs to the queue.
      if (queue.more || judged !== null) announceWork();
      return finish({ lease, outcome, judged }, options);
    },

    /**
     * Releases a claimed submission: it is `pending` again, and the attempt does not count. A run that has begun ends with the status
     * `error` instead if it is an agent run, which may have had outside effects, or takes input. Calls are processed in order. A caller that releases
     * several submissions that have not begun must begin with the one that it claimed last: the one that is released last is served first
     * (queue/turns.ts).
     * @param begun whether code of the program may have run.
     * @returns false, without changes, for a void lease.
     */
    release: (lease: Lease, begun: boolean): Promise<boolean> => release({ lease, begun }),

    /** Whether a claimed submission may go on with its next run, because no waiting submission precedes it in fair order. */
    isNext: (lease: Lease, givesNetworks = false): Promise<boolean> => isNext(db, lease, givesNetworks),

    /**
     * Gives up the slot between two runs of a submission: it is `pending` again, the attempt does not count, and the next claim
     * continues from this progress. @returns false, without changes, for a void lease.
     */
    yieldSlot(lease: Lease, progress: Progress): Promise<boolean> {
      return transactions.run((trx) => yieldSlot(trx, { lease, progress }), {
        notifications: (yielded) => (yielded ? [WORK] : []),
      });
    },

    /**
     * Requeues a submission whose run failed because of the platform: it is `pending` again, and the attempt counts. Only judge runs are
     * requeued, because they have no outside effects, and only while attempts are left.
     * @returns false, without changes, for an agent run, after the last attempt, and for a void lease.
     */
    requeue(lease: Lease): Promise<boolean> {
      return transactions.run((trx) => requeue(trx, lease), { notifications: (requeued) => (requeued ? [WORK] : []) });
    },

    /**
     * Takes away leases that were not renewed for `leaseMs`. Each call compares the leases with those that earlier calls on this store
     * saw. Therefore the first call finds none, and neither does one that comes more than `leaseMs` after the previous call. A judge run is requeued while
     * attempts are left, because it has no outside effects. An agent run, a run that takes input, and a judge run after its last attempt
     * end with the status `error`.
     */
    async sweep(leaseMs: number): Promise<Swept> {
      const running = await readRunning(db);
      const held = new Map(running.map(({ id, fence, lease_until }) => [id, `${fence} ${lease_until}`]));
      const silent = holders.observe(held, leaseMs);
      return await take(running.filter(({ id }) => silent.has(id)));
    },

    /** Takes away all leases, with the consequences of `sweep`, for a caller that is certain that no worker is alive. */
    async sweepAll(): Promise<Swept> {
      return await take(await readRunning(db));
    },

    /**
     * Reads a submission with its output. @param admit awaited before a large output is read.
     * @returns undefined for an unknown id and for a submission of another account.
     */
    async get(id: string, accountId: string, admit?: ReserveMemory): Promise<Submission | undefined> {
      const head = await reads.add({ id, accountId });
      return head && (await complete(head, admit));
    },

    /** Reads a submission. If its output is large, the result has a function that reads the output. */
    head: (id: string, accountId: string): Promise<Head | undefined> => reads.add({ id, accountId }),

    /**
     * Resolves with the submission once it has ended, without polling, or with its present state when `signal` aborts or the store closes.
     * @param admit awaited before a large output is read. @param accepted whether `enqueue` has just accepted the submission.
     * @returns undefined for an unknown id and for a submission of another account.
     */
    async whenTerminal(
      id: string,
      accountId: string,
      signal: AbortSignal,
      admit?: ReserveMemory,
      accepted = false,
    ): Promise<Submission | undefined> {
      // With several writers, another process may have ended the submission already.
      const known = accepted && oneWriter;
      const head = await waits.until(id, () => reads.add({ id, accountId }), signal, known);
      return head && (await complete(head, admit));
    },

    /**
     * The samples of a submission. @returns null if it has none, or has not ended; undefined for an unknown id and for a submission of
     * another account.
     */
    samples: (id: string, accountId: string): Promise<Samples | null | undefined> => readSamples(db, id, accountId),

    /**
     * The network of a submission. @param admit awaited with the size of what was reached before that is read.
     * @returns null if it has none; undefined if the account has no such submission.
     */
    network: (id: string, accountId: string, admit?: ReserveMemory): Promise<SubmissionNetwork | null | undefined> =>
      readNetwork(db, { id, accountId }, admit),

    /**
     * Stores what the run of a submission with a network has reached. The worker that ran it calls this before it stores the outcome, and also if it no longer
     * decides that, because a request has cancelled the submission.
     */
    storeEgress: (id: string, egress: EgressRecord): Promise<void> =>
      transactions.run((trx) => storeEgress(trx, id, egress)),

    /**
     * What the compiler wrote for a program that compiled, at most MAX_COMPILE_OUTPUT_BYTES. @returns null if it wrote nothing, the program
     * was not compiled, or the submission has not ended; undefined for an unknown id and for a submission of another account.
     */
    compileOutput: (id: string, accountId: string): Promise<Buffer | null | undefined> =>
      readCompileOutput(db, id, accountId),

    /** @returns the number of pending submissions of all keys. */
    depth(): Promise<number> {
      return countPending(db);
    },
  };
  return { store, close: () => waits.close() };
}
