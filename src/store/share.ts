/** What waits of one key, and what its turn depends on. */
export interface Queue {
  readonly keyId: string;
  readonly turn: number;
  readonly concurrency: number;
  running: number;
  /** Its oldest pending submission. */
  seq: number;
  /** The same object for all keys of the account. */
  readonly account: Share;
}

export interface Share {
  readonly id: string;
  /** Rises with every claim: the lowest was served longest ago. */
  readonly turn: number;
  running: number;
}

/**
 * Whose turn it is: the account with the fewest running, then the one that was served longest ago; of its keys, by the
 * same two rules. So an account that has nothing running gets the next slot, whatever the others have waiting, and the
 * number of its keys gives an account no larger share.
 * @returns undefined when every key is at its concurrency.
 */
export function fairest(queues: readonly Queue[]): Queue | undefined {
  let first: Queue | undefined;
  for (const queue of queues) {
    if (queue.running < queue.concurrency && (!first || isBefore(queue, first))) first = queue;
  }
  return first;
}

function isBefore(a: Queue, b: Queue): boolean {
  const order =
    a.account.running - b.account.running ||
    a.account.turn - b.account.turn ||
    a.running - b.running ||
    a.turn - b.turn ||
    a.seq - b.seq;
  return order < 0;
}
