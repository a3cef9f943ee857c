/** A small, fast and reproducible random number generator: mulberry32. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** @returns a function that chooses an account by its rank from 0. The rth most popular account has a share proportional to 1/r. */
export function zipf(accounts: number, chance: () => number): () => number {
  const sums = new Float64Array(accounts);
  let sum = 0;
  for (let rank = 0; rank < accounts; rank++) sums[rank] = sum += 1 / (rank + 1);
  return () => {
    const wanted = chance() * sum;
    let [low, high] = [0, accounts - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

/** A priority queue of events by time: a binary heap. */
export class Agenda<T> {
  readonly #items: { readonly at: number; readonly what: T }[] = [];

  put(at: number, what: T): void {
    const items = this.#items;
    items.push({ at, what });
    for (let child = items.length - 1; child > 0; ) {
      const parent = (child - 1) >> 1;
      if ((items[parent]?.at ?? 0) <= at) break;
      this.#swap(child, parent);
      child = parent;
    }
  }

  take(): { readonly at: number; readonly what: T } | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (!first || !last || items.length === 0) return first;
    items[0] = last;
    for (let parent = 0; ; ) {
      const [left, right] = [2 * parent + 1, 2 * parent + 2];
      let least = parent;
      for (const child of [left, right])
        if ((items[child]?.at ?? Number.POSITIVE_INFINITY) < (items[least]?.at ?? 0)) least = child;
      if (least === parent) return first;
      this.#swap(parent, least);
      parent = least;
    }
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#items[a], this.#items[b]];
    if (one && other) [this.#items[a], this.#items[b]] = [other, one];
  }
}
