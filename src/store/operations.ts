import type { Transaction } from "kysely";
import type { Abilities } from "./database/database.ts";
import type { Operation } from "./database/operations.ts";
import type { Schema } from "./database/schema.ts";
import { type EgressMove, moveEgress } from "./egress/leases.ts";
import { type Take, takeQuota } from "./quota/take.ts";
import { type BegunExecution, beginExecutions, type ExecutionEnd, endExecutions } from "./sandboxes/changes.ts";
import { type ClaimRequest, claim } from "./submissions/claim.ts";
import { enqueue } from "./submissions/enqueue.ts";
import { type Finish, finish, type ReleasedLease, release, renew } from "./submissions/lease.ts";
import type { Enqueue, Lease } from "./submissions/types.ts";

type Trx = Transaction<Schema>;
type Locks = Pick<Abilities, "lock">;

const RUNS = {
  takeQuota: (trx: Trx, _: Locks, { takes, nowMs }: { readonly takes: readonly Take[]; readonly nowMs: number }) =>
    takeQuota(trx, takes, nowMs),
  enqueue: (trx: Trx, locks: Locks, asked: { readonly requests: readonly Enqueue[]; readonly nowMs: number }) =>
    enqueue(trx, locks, asked),
  claim: (trx: Trx, locks: Locks, request: ClaimRequest) => claim(trx, locks, request),
  renew: (trx: Trx, _: Locks, { lease, leaseUntilMs }: { readonly lease: Lease; readonly leaseUntilMs: number }) =>
    renew(trx, lease, leaseUntilMs),
  finish: (trx: Trx, _: Locks, { group, nowMs }: { readonly group: readonly Finish[]; readonly nowMs: number }) =>
    finish(trx, group, nowMs),
  release: (
    trx: Trx,
    locks: Locks,
    { releases, nowMs }: { readonly releases: readonly ReleasedLease[]; readonly nowMs: number },
  ) => release(trx, locks, releases, nowMs),
  beginExecutions: (
    trx: Trx,
    locks: Locks,
    { begun, nowMs }: { readonly begun: readonly BegunExecution[]; readonly nowMs: number },
  ) => beginExecutions(trx, locks, begun, nowMs),
  endExecutions: (trx: Trx, _: Locks, { ended }: { readonly ended: readonly ExecutionEnd[] }) =>
    endExecutions(trx, ended),
  moveEgress: (
    trx: Trx,
    locks: Locks,
    { moves, nowMs }: { readonly moves: readonly EgressMove[]; readonly nowMs: number },
  ) => moveEgress(trx, locks, moves, nowMs),
};

type Asked<Name extends keyof typeof RUNS> = Parameters<(typeof RUNS)[Name]>[2];
type Result<Name extends keyof typeof RUNS> = Awaited<ReturnType<(typeof RUNS)[Name]>>;

/**
 * The frequent operations of the store. The thread of a connection to SQLite loads this module (src/store/database/sqlite-thread.ts), so
 * that it can run whole operations.
 */
export const OPERATIONS = Object.fromEntries(
  Object.entries(RUNS).map(([name, run]) => [name, { name, run }]),
) as unknown as { readonly [Name in keyof typeof RUNS]: Operation<Asked<Name>, Result<Name>> };
