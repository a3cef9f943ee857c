import { sql, type Transaction } from "kysely";
import { isTerminal, MAX_STDIN_BYTES, type Status } from "../../domain/submission.ts";
import type { Database } from "../database/database.ts";
import type { Notifier } from "../database/notifier.ts";
import type { Schema } from "../database/schema.ts";
import type { Transactions } from "../database/transactions.ts";
import { takesInput } from "../submissions/takes-input.ts";
import type { Lease } from "../submissions/types.ts";
import { heldSeq } from "./output.ts";

/**
 * The most input that clients can give to a run: as many bytes as a submission can have as its stdin, which count, in at most so many
 * pieces. The pipe of the program holds that much, so that a signal reaches a program that reads none of it.
 */
export const MAX_LIVE_INPUT = { bytes: MAX_STDIN_BYTES, pieces: 10_000 } as const;

/** The most pieces that one read returns. */
const MAX_READ = 256;
/** The most rows of one statement, because SQLite bounds the parameters of a statement. */
const MAX_INSERT = 1_000;

/** Input for a running program, its end, or a signal. */
export type LiveInput =
  | { readonly kind: "bytes"; readonly bytes: Buffer }
  | { readonly kind: "end" }
  | { readonly kind: "signal"; readonly signal: number };

/**
 * `ended`: the account has no such submission, or the submission has ended. `takesNone`: the submission takes no input. `full`: with this
 * input, the run would have got more than MAX_LIVE_INPUT. In these cases, nothing was added.
 */
export type GiveResult = "given" | "full" | "takesNone" | "ended";

export type LiveInputStore = ReturnType<typeof liveInputStore>;

/**
 * Input that clients give to programs while they run, after the stdin of the submission. Clients add it, the worker reads it, and the end
 * of the submission deletes it.
 */
export function liveInputStore({ db, abilities }: Database, transactions: Transactions, notifier: Notifier) {
  return {
    /** Adds input for a submission that takes it, after all input of earlier calls. */
    give(id: string, accountId: string, inputs: readonly LiveInput[]): Promise<GiveResult> {
      return transactions.runUnflushed((trx) => give(trx, !abilities.oneWriter, id, accountId, inputs), {
        notifications: (given) => (given === "given" ? [{ kind: "input", id }] : []),
      });
    },

    /** The next pieces of input with their numbers, which are higher than `after`. @returns null for a void lease. */
    async read(lease: Lease, after: number): Promise<[number, LiveInput][] | null> {
      const seq = await heldSeq(db, lease);
      if (seq === undefined) return null;
      const rows = await db
        .selectFrom("live_input")
        .select(["n", "bytes", "signal"])
        .where("submission_seq", "=", seq)
        .where("n", ">", after)
        .orderBy("n")
        .limit(MAX_READ)
        .execute();
      return rows.map(({ n, bytes, signal }) => [n, toInput(bytes, signal)]);
    },

    /** Calls the listener when the submission may have new input. @returns a function that ends the subscription. */
    onInput: (id: string, listener: () => void): (() => void) => notifier.onInput(id, listener),
  };
}

async function give(
  trx: Transaction<Schema>,
  locked: boolean,
  id: string,
  accountId: string,
  inputs: readonly LiveInput[],
): Promise<GiveResult> {
  const submission = await trx
    .selectFrom("submissions")
    .select(["seq", "status", "live", "takes_input"])
    // For the reason that heldSeq in output.ts states. This lock is also exclusive, because two calls must not use the same numbers.
    .$if(locked, (row) => row.forNoKeyUpdate())
    .where("id", "=", id)
    .where("account_id", "=", accountId)
    .executeTakeFirst();
  if (!submission || isTerminal(submission.status as Status)) return "ended";
  if (!takesInput(submission)) return "takesNone";
  const last = await trx
    .selectFrom("live_input")
    .select(["n", "total"])
    .where("submission_seq", "=", submission.seq)
    .orderBy("n", "desc")
    .limit(1)
    .executeTakeFirst();
  let [n, total] = last ? [last.n, last.total] : [0, await stdinBytes(trx, submission.seq)];
  const rows = inputs.map((input) => {
    const bytes = input.kind === "bytes" ? input.bytes : null;
    n += 1;
    total += bytes?.length ?? 0;
    return { submission_seq: submission.seq, n, total, bytes, signal: input.kind === "signal" ? input.signal : null };
  });
  if (n > MAX_LIVE_INPUT.pieces || total > MAX_LIVE_INPUT.bytes) return "full";
  for (let at = 0; at < rows.length; at += MAX_INSERT)
    await trx
      .insertInto("live_input")
      .values(rows.slice(at, at + MAX_INSERT))
      .execute();
  return "given";
}

async function stdinBytes(trx: Transaction<Schema>, seq: number): Promise<number> {
  const found = await trx
    .selectFrom("programs")
    .select(sql<number>`octet_length(stdin)`.as("bytes"))
    .where("submission_seq", "=", seq)
    .executeTakeFirst();
  return Number(found?.bytes ?? 0);
}

function toInput(bytes: Buffer | null, signal: number | null): LiveInput {
  if (signal !== null) return { kind: "signal", signal };
  return bytes === null ? { kind: "end" } : { kind: "bytes", bytes };
}
