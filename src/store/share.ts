/** An account that shares slots, or attempts at webhooks, with others. */
export interface Share {
  readonly id: string;
  /** Rises with every claim: the lowest was served longest ago. */
  readonly turn: number;
  /** Its submissions that run, or its attempts under way, in all processes. */
  underWay: number;
}

/** What waits of an account in one line: of a key, or for an endpoint. */
export interface Line {
  underWay: number;
  /** The same object for all lines of the account. */
  readonly account: Share;
}

/** What waits of one key, and what its turn depends on. */
export interface Queue extends Line {
  readonly keyId: string;
  readonly turn: number;
  readonly concurrency: number;
  /** Its oldest pending submission. */
  seq: number;
}

/**
 * Whose turn it is: the account with the fewest under way, then the one that was served longest ago; of its lines the one with
 * the fewest under way, then the one that comes first by `order`. So an account that has nothing under way is next,
 * whatever the others have waiting, and the number of its lines gives an account no larger share.
 * @returns undefined when there is none.
 */
export function nextLine<One extends Line>(lines: readonly One[], order: (a: One, b: One) => number): One | undefined {
  let first: One | undefined;
  for (const line of lines) if (!first || compare(line, first, order) < 0) first = line;
  return first;
}

/** @returns undefined when every key is at its concurrency. */
export function fairest(queues: readonly Queue[]): Queue | undefined {
  const open = queues.filter(({ underWay, concurrency }) => underWay < concurrency);
  return nextLine(open, (a, b) => a.turn - b.turn || a.seq - b.seq);
}

function compare<One extends Line>(a: One, b: One, order: (a: One, b: One) => number): number {
  return (
    a.account.underWay - b.account.underWay || a.account.turn - b.account.turn || a.underWay - b.underWay || order(a, b)
  );
}
