import { sql, type Transaction } from "kysely";
import { type Take, takeQuota } from "../quota/quota.ts";
import type { Schema } from "../schema/schema.ts";
import { type ClaimRequest, claim } from "../submissions/claim.ts";
import { enqueue } from "../submissions/enqueue.ts";
import { type Finish, finish, type Release, release, renew } from "../submissions/lease.ts";
import type { Enqueue, Lease } from "../submissions/types.ts";
import type { Abilities } from "./database.ts";

type Trx = Transaction<Schema>;
type Locks = Pick<Abilities, "lock">;

/**
 * The frequent operations by name, so that an engine with its connection in another thread can run a whole operation there,
 * with one message instead of one per statement. Arguments and results are plain data.
 */
export const OPERATIONS = {
  takeQuota: (trx: Trx, _: Locks, { takes, nowMs }: { takes: readonly Take[]; nowMs: number }) =>
    takeQuota(trx, takes, nowMs),
  enqueue: (trx: Trx, locks: Locks, asked: { requests: readonly Enqueue[]; nowMs: number }) =>
    enqueue(trx, locks, asked),
  claim: (trx: Trx, locks: Locks, request: ClaimRequest) => claim(trx, locks, request),
  renew: (trx: Trx, _: Locks, { lease, leaseUntilMs }: { lease: Lease; leaseUntilMs: number }) =>
    renew(trx, lease, leaseUntilMs),
  finish: (trx: Trx, _: Locks, { group, nowMs }: { group: readonly Finish[]; nowMs: number }) =>
    finish(trx, group, nowMs),
  release: (trx: Trx, locks: Locks, { releases, nowMs }: { releases: readonly Release[]; nowMs: number }) =>
    release(trx, locks, releases, nowMs),
};

export type Operation = keyof typeof OPERATIONS;
export type OperationInput<O extends Operation> = Parameters<(typeof OPERATIONS)[O]>[2];
export type Result<O extends Operation> = Awaited<ReturnType<(typeof OPERATIONS)[O]>>;

export interface Call {
  readonly operation: Operation;
  readonly asked: unknown;
}

/** Runs an operation by its name. @param asked the argument of the operation; its type must be that of the operation. */
export function perform(trx: Trx, locks: Locks, { operation, asked }: Call): Promise<unknown> {
  const run = OPERATIONS[operation] as (trx: Trx, locks: Locks, asked: unknown) => Promise<unknown>;
  return run(trx, locks, asked);
}

/**
 * Runs pieces of work in one transaction, each in its own savepoint, so that a failure does not affect the others.
 * @returns the result of each piece, in order.
 * @throws if a failure, such as a full disk, has ended the whole transaction.
 */
export async function runPieces<T>(
  trx: Transaction<Schema>,
  pieces: readonly ((trx: Transaction<Schema>) => Promise<T>)[],
): Promise<PromiseSettledResult<T>[]> {
  const ended: PromiseSettledResult<T>[] = [];
  for (const piece of pieces) {
    await sql`savepoint piece`.execute(trx);
    try {
      ended.push({ status: "fulfilled", value: await piece(trx) });
    } catch (reason) {
      await sql`rollback to piece`.execute(trx).catch(() => {
        throw reason;
      });
      ended.push({ status: "rejected", reason });
    }
    await sql`release piece`.execute(trx);
  }
  return ended;
}
