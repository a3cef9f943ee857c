import { sql, type Transaction } from "kysely";
import type { Abilities } from "./database.ts";
import type { Schema } from "./schema.ts";

type Locks = Pick<Abilities, "lock">;

/**
 * A frequent operation. An engine with its connection in another thread runs the whole operation there, with one message instead of one
 * per statement. Therefore, arguments and results are plain data.
 */
export interface Operation<Asked, Result> {
  /** The name in the list of operations (Operations). */
  readonly name: string;
  readonly run: (trx: Transaction<Schema>, locks: Locks, asked: Asked) => Promise<Result>;
}

/** Operations by their names. A module that exports them as OPERATIONS can be loaded in the thread of a connection. */
export type Operations = Readonly<Record<string, Operation<never, unknown>>>;

/** An operation with its argument, as a message between threads. */
export interface OperationCall {
  readonly operation: string;
  readonly asked: unknown;
}

/** Runs an operation by its name. @param asked the argument of the operation; its type must be that of the operation. */
export function perform(
  operations: Operations,
  trx: Transaction<Schema>,
  locks: Locks,
  { operation, asked }: OperationCall,
): Promise<unknown> {
  const found = operations[operation];
  if (!found) throw new Error(`there is no operation ${operation}`);
  return found.run(trx, locks, asked as never);
}

/**
 * Runs pieces of work in one transaction, each in its own savepoint, so that a failure does not affect the others. A piece that is alone needs none:
 * its failure ends the transaction.
 * @returns the result of each piece, in order.
 * @throws if a failure, such as a full disk, has ended the whole transaction.
 */
export async function runPieces<T>(
  trx: Transaction<Schema>,
  pieces: readonly ((trx: Transaction<Schema>) => Promise<T>)[],
): Promise<PromiseSettledResult<T>[]> {
  const [first, ...others] = pieces;
  if (first && others.length === 0) return [{ status: "fulfilled", value: await first(trx) }];
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
