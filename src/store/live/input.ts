import type { Transaction } from "kysely";
import { isTerminal, MAX_STDIN_BYTES, type Status } from "../../domain/submission.ts";
import type { Database } from "../database/database.ts";
import type { Notifier } from "../database/notifier.ts";
import type { Transactions } from "../database/transactions.ts";
import type { Schema } from "../schema/schema.ts";
import type { Lease } from "../submissions/types.ts";
import { heldSeq } from "./output.ts";

/** The most input that a run can get while it runs: as many bytes as a submission can have as its input, in this many pieces. */
export const MAX_LIVE_INPUT = { bytes: MAX_STDIN_BYTES, pieces: 10_000 } as const;

/** Pieces that one read returns. */
const MAX_READ = 256;

/** Input for a running program, its end, or a signal. */
export type LiveInput =
  | { readonly kind: "bytes"; readonly bytes: Buffer }
  | { readonly kind: "end" }
  | { readonly kind: "signal"; readonly signal: number };

/** `ended`: the run has ended or takes no input; `full`: it has got all that MAX_LIVE_INPUT permits. */
export type GiveResult = "given" | "full" | "ended";

export type LiveInputStore = ReturnType<typeof liveInputStore>;

/** Rows that clients add during a run, its worker reads, and its end deletes. A repeated run reads them from the start. */
export function liveInputStore({ db, abilities }: Database, transactions: Transactions, wakeups: Notifier) {
  return {
    /** Adds input for a submission that takes it. For each submission, the caller makes one call at a time. */
    give(id: string, accountId: string, inputs: readonly LiveInput[]): Promise<GiveResult> {
      return transactions.runAsyncCommit((trx) => give(trx, !abilities.oneWriter, id, accountId, inputs), {
        notifications: (given) => (given === "given" ? [{ kind: "input", id }] : []),
      });
    },

    /** The next pieces, by number, after this one. Null for a void lease. */
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

    /** Calls back for new input, like `onWork`. @returns a function that ends the subscription. */
    onInput: (id: string, listener: () => void): (() => void) => wakeups.onInput(id, listener),
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
    .select(["seq", "status", "live"])
    .$if(locked, (row) => row.forShare()) // as in output.ts
    .where("id", "=", id)
    .where("account_id", "=", accountId)
    .executeTakeFirst();
  if (submission?.live !== 2 || isTerminal(submission.status as Status)) return "ended";
  const last = await trx
    .selectFrom("live_input")
    .select(["n", "total"])
    .where("submission_seq", "=", submission.seq)
    .orderBy("n", "desc")
    .limit(1)
    .executeTakeFirst();
  let [n, total] = [last?.n ?? 0, last?.total ?? 0];
  const rows = inputs.map((input) => {
    const bytes = input.kind === "bytes" ? input.bytes : null;
    n += 1;
    total += bytes?.length ?? 0;
    return { submission_seq: submission.seq, n, total, bytes, signal: input.kind === "signal" ? input.signal : null };
  });
  if (n > MAX_LIVE_INPUT.pieces || total > MAX_LIVE_INPUT.bytes) return "full";
  if (rows.length > 0) await trx.insertInto("live_input").values(rows).execute();
  return "given";
}

function toInput(bytes: Buffer | null, signal: number | null): LiveInput {
  if (signal !== null) return { kind: "signal", signal };
  return bytes === null ? { kind: "end" } : { kind: "bytes", bytes };
}
