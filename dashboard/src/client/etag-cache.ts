interface Answer {
  readonly tag: string;
  readonly data: unknown;
  /** Characters of the text of the answer. */
  readonly length: number;
}

/**
 * Answers with their tags, least recently used first. The service does not send an unchanged answer again. Unlike those in the
 * browser's cache, these answers are only in memory.
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
