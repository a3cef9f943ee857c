/** An account that shares slots or webhook attempts with others. */
export interface Share {
  readonly id: string;
  /** Increases with every claim: the lowest was served least recently. */
  readonly turn: number;
  /** Its running submissions or attempts under way, in all processes. */
  underWay: number;
}

/** A queue of an account: of a key or for an endpoint. */
export interface Line {
  underWay: number;
  /** The same object for all queues of the account. */
  readonly account: Share;
}

/** The queue of one key with the values that determine its turn. */
export interface Queue extends Line {
  readonly keyId: string;
  readonly turn: number;
  readonly concurrency: number;
  /** Its oldest pending submission. */
  seq: number;
}

/**
 * Chooses the next queue: of the account with the fewest under way, then of the least recently served one; within the
 * account, the queue with the fewest under way, then the first by `order`. An account with nothing under way is next,
 * regardless of the queues of others, and more queues do not give an account a larger share.
 * @returns undefined if there is none.
 */
export function nextLine<One extends Line>(lines: readonly One[], order: (a: One, b: One) => number): One | undefined {
  let first: One | undefined;
  for (const line of lines) if (!first || compare(line, first, order) < 0) first = line;
  return first;
}

/** @returns undefined if every key is at its concurrency. */
export function fairest(queues: readonly Queue[]): Queue | undefined {
  const open = queues.filter(({ underWay, concurrency }) => underWay < concurrency);
  return nextLine(open, (a, b) => a.turn - b.turn || a.seq - b.seq);
}

function compare<One extends Line>(a: One, b: One, order: (a: One, b: One) => number): number {
  return (
    a.account.underWay - b.account.underWay || a.account.turn - b.account.turn || a.underWay - b.underWay || order(a, b)
  );
}
