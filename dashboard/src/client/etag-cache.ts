interface Answer {
  readonly tag: string;
  readonly data: unknown;
  /** Number of characters of the answer. */
  readonly length: number;
}

/**
 * Answers by address, least recently used first. A request sends the tag of the cached answer (`If-None-Match`), and the service
 * returns status 304 instead of the answer if it has not changed. Unlike the browser's cache, this one is only in memory.
 */
const answers = new Map<string, Answer>();
const MAX_LENGTH = 8_000_000;

export function cachedAnswer(address: string): Answer | undefined {
  return answers.get(address);
}

export function cacheAnswer(address: string, answer: Answer): void {
  answers.delete(address);
  answers.set(address, answer);
  let sum = [...answers.values()].reduce((all, { length }) => all + length, 0);
  for (const [oldest, { length }] of answers) {
    if (sum <= MAX_LENGTH) return;
    answers.delete(oldest);
    sum -= length;
  }
}
