/** After this time, a submission counts half. */
const HALF_LIFE_MS = 60_000;

/** The most accounts whose submissions are counted. Above it, the account that submitted least recently is forgotten. */
const MOST_ACCOUNTS = 1_000;

/** A number that halves in every half-life. */
class Decaying {
  #amount = 0;
  #atMs = 0;

  add(amount: number, nowMs: number): void {
    this.#amount = Math.max(this.at(nowMs) + amount, 0);
    this.#atMs = nowMs;
  }

  at(nowMs: number): number {
    return this.#amount * 2 ** ((this.#atMs - nowMs) / HALF_LIFE_MS);
  }
}

/** The recent submissions of an account. All counts halve at the same pace, so the shares of the kinds change only with a submission. */
interface Recent {
  readonly kinds: Map<string, Decaying>;
  /** What the account added to the weight of each kind at its last submission: 1 in total. */
  shares: ReadonlyMap<string, number>;
  /** When the account last submitted. */
  atMs: number;
}

/**
 * The recent mix of submissions by kind. An account adds a weight of 1 at its last submission, which is divided among the kinds of its
 * recent submissions and halves in every half-life. A flood of one account therefore weighs no more than one submission of another.
 */
export class SubmissionMix {
  /** The account that submitted least recently first. */
  readonly #accounts = new Map<string, Recent>();
  readonly #weights = new Map<string, Decaying>();
  readonly #lastMs = new Map<string, number>();

  add(account: string, kind: string, nowMs: number): void {
    const recent = this.#accounts.get(account) ?? {
      kinds: new Map<string, Decaying>(),
      shares: new Map(),
      atMs: nowMs,
    };
    this.#forget(account, nowMs);
    this.#lastMs.set(kind, nowMs);
    const count = recent.kinds.get(kind) ?? new Decaying();
    recent.kinds.set(kind, count);
    count.add(1, nowMs);
    const counts = [...recent.kinds].map(([name, one]) => [name, one.at(nowMs)] as const);
    const all = counts.reduce((sum, [, amount]) => sum + amount, 0);
    const shares = new Map(counts.map(([name, amount]) => [name, amount / all]));
    for (const [name, share] of shares) this.#weigh(name, share, nowMs);
    this.#accounts.set(account, { kinds: recent.kinds, shares, atMs: nowMs });
    const [oldest] = this.#accounts.keys();
    if (this.#accounts.size > MOST_ACCOUNTS && oldest !== undefined) this.#forget(oldest, nowMs);
  }

  /** The weight of the kind. */
  of(kind: string, nowMs: number): number {
    return this.#weights.get(kind)?.at(nowMs) ?? 0;
  }

  /** 1 at the last submission of the kind; halves in every half-life. */
  recency(kind: string, nowMs: number): number {
    return 2 ** (((this.#lastMs.get(kind) ?? Number.NEGATIVE_INFINITY) - nowMs) / HALF_LIFE_MS);
  }

  #forget(account: string, nowMs: number): void {
    const recent = this.#accounts.get(account);
    if (!recent) return;
    this.#accounts.delete(account);
    const left = 2 ** ((recent.atMs - nowMs) / HALF_LIFE_MS);
    for (const [kind, share] of recent.shares) this.#weigh(kind, -share * left, nowMs);
  }

  #weigh(kind: string, amount: number, nowMs: number): void {
    const weight = this.#weights.get(kind) ?? new Decaying();
    this.#weights.set(kind, weight);
    weight.add(amount, nowMs);
  }
}
