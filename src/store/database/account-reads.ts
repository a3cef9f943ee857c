import { WorkTurns } from "../../fairness/turn.ts";

/**
 * The most reads that are in the database at the same time: of all owners together, and of each. There are few, because one read can take
 * tens of milliseconds: a judgement with 500 tests and long messages takes 45 ms until its record has been sent.
 */
const AT_ONCE = { total: 4, perOwner: 1 };

/** The owner of reads over the records of all accounts, which only operators and administrators make. */
const OPERATORS = "operators";

/**
 * Reads whose cost grows with what an account has stored: lists, searches, counts, history and whole judgements. The database serves
 * statements in the order of their arrival, so a thousand searches of one account would delay every request that arrives after
 * them. Accounts therefore take turns with these reads before the reads reach the database. Reads of a single row need no turn.
 */
export class AccountReads {
  readonly #turns = new WorkTurns({ atOnce: AT_ONCE });

  /** Runs a read when it is the turn of its owner. @param owner the account, or the accounts of a person; null for all accounts. */
  run<T>(owner: string | readonly string[] | null, read: () => Promise<T>): Promise<T> {
    return this.#turns.run(owner === null ? OPERATORS : String(owner), read);
  }
}
