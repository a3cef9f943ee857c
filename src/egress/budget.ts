/*
 * Budgets of bytes. Bytes are reserved before they are forwarded, so the use never exceeds a budget by a byte, whatever the number of connections. A
 * budget of a sandbox can have a lender, such as the database, which outlives this process and knows the bytes that several sandboxes share: bytes are
 * leased in blocks, ahead of their use, and what was not used is given back.
 */

/** Bytes that a lender has counted as used. */
export interface Lease {
  readonly bytes: number;
  /**
   * Returns what was not used, to the account and day from which it came. It is called at most once, and not if everything was used.
   * @param unused from 1 to `bytes`.
   */
  giveBack(unused: number): Promise<void>;
}

/** Lends bytes. The sum of all leases, without what was given back, must never be above what the lender has. */
export interface ByteLender {
  /**
   * @param wanted at least 1.
   * @returns a lease of `wanted` bytes, or of all that are left, which can be 0.
   */
  lease(wanted: number): Promise<Lease>;
}

/** A lender in memory, for one process. */
export class MemoryLender implements ByteLender {
  readonly #limit: number;
  #leased = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The bytes that were leased and not given back. */
  get leased(): number {
    return this.#leased;
  }

  async lease(wanted: number): Promise<Lease> {
    const bytes = Math.max(0, Math.min(wanted, this.#limit - this.#leased));
    this.#leased += bytes;
    let isOpen = true;
    const giveBack = async (unused: number) => {
      if (!isOpen || !Number.isSafeInteger(unused) || unused < 0 || unused > bytes)
        throw new Error(`${unused} of ${bytes} leased bytes cannot be given back`);
      isOpen = false;
      this.#leased -= unused;
    };
    return { bytes, giveBack };
  }
}

export interface ByteBudgetOptions {
  /** Absent: only the limit of the sandbox itself holds. */
  readonly lender?: ByteLender | null;
  /** Bytes that an earlier process, or an earlier proxy of this one, has used. */
  readonly used?: number;
  /** The bytes that are leased at once, if not the part of the limit that LEASES says. */
  readonly blockBytes?: number;
}

/** A sixteenth of the limit is leased at once. What a process that dies has leased counts as used, so it is never much. */
const LEASES = { part: 16, least: 64 * 1024, most: 16 * 1024 * 1024 } as const;
/** How long a lender that has nothing left, or has failed, is not asked again; after a failure, only not in advance. */
const NOT_ASKED_MS = 1_000;

/** A lease, and how much of it is not used. */
interface Leased {
  readonly lease: Lease;
  left: number;
}

/** The budget of a sandbox in one direction. */
export class ByteBudget {
  #limit: number;
  readonly #lender: ByteLender | null;
  readonly #blockBytes: number | null;
  #used: number;
  /** What is leased and not used up, the oldest lease first. */
  #leases: Leased[] = [];
  #leaseLeft = 0;
  /** The request to the lender that is under way. */
  #asking: Promise<boolean> | null = null;
  #emptyUntilMs = Number.NEGATIVE_INFINITY;
  #failedUntilMs = Number.NEGATIVE_INFINITY;
  /** The takes that wait for a lease, and the end of the last one. They are served in order. */
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(limit: number, { lender = null, used = 0, blockBytes }: ByteBudgetOptions = {}) {
    this.#limit = limit;
    this.#lender = lender;
    this.#used = used;
    this.#blockBytes = blockBytes ?? null;
  }

  /** The bytes that were reserved, with those of earlier processes. */
  get used(): number {
    return this.#used;
  }

  /** The bytes that this budget still has. Its lender can have fewer. */
  get left(): number {
    return Math.max(0, this.#limit - this.#used);
  }

  /** Changes the limit of the sandbox. What was used stays used, also above the new limit. */
  setLimit(limit: number): void {
    this.#limit = limit;
    this.#emptyUntilMs = Number.NEGATIVE_INFINITY;
  }

  /**
   * Reserves bytes, of which as many may then be forwarded.
   * @param wanted at least 1.
   * @returns `wanted`, or all bytes that are left, if these are fewer: the budget is used up. A promise, if they must be leased; it rejects if the
   * lender fails, and then nothing is reserved.
   */
  take(wanted: number): number | Promise<number> {
    if (this.#isClosed) return 0;
    if (this.#waiting === 0) {
      const bytes = Math.min(wanted, this.left);
      if (this.#lender === null || bytes <= this.#leaseLeft) return this.#reserve(bytes);
    }
    this.#waiting++;
    const taken = this.#last.then(() => this.#takeLeased(wanted)).finally(() => this.#waiting--);
    this.#last = taken.catch(() => {});
    return taken;
  }

  /** Gives back what was leased and not used. Everything that is taken afterwards gets 0. @throws if the lender fails. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
    await this.#asking?.catch(() => {});
    const leases = this.#leases;
    this.#leases = [];
    this.#leaseLeft = 0;
    const givenBack = await Promise.allSettled(leases.map(({ lease, left }) => lease.giveBack(left)));
    const failed = givenBack.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
  }

  #reserve(bytes: number): number {
    this.#used += bytes;
    if (this.#lender === null) return bytes;
    this.#leaseLeft -= bytes;
    for (let rest = bytes; rest > 0; ) {
      const first = this.#leases[0] as Leased;
      const part = Math.min(rest, first.left);
      rest -= part;
      first.left -= part;
      if (first.left === 0) this.#leases.shift();
    }
    this.#leaseAhead();
    return bytes;
  }

  async #takeLeased(wanted: number): Promise<number> {
    for (;;) {
      if (this.#isClosed) return 0;
      const bytes = Math.min(wanted, this.left);
      if (bytes <= this.#leaseLeft) return this.#reserve(bytes);
      if (!(await this.#ask(bytes - this.#leaseLeft)))
        return this.#isClosed ? 0 : this.#reserve(Math.min(bytes, this.left, this.#leaseLeft));
    }
  }

  /** Leases the next block before the present one is used up, so that connections do not wait for the lender. */
  #leaseAhead(): void {
    if (this.#asking || this.#isClosed || performance.now() < this.#failedUntilMs) return;
    if (this.#leaseLeft >= this.#block / 2 || this.left <= this.#leaseLeft) return;
    this.#ask(1).catch(() => {
      this.#failedUntilMs = performance.now() + NOT_ASKED_MS;
    });
  }

  get #block(): number {
    return this.#blockBytes ?? Math.min(Math.max(Math.ceil(this.#limit / LEASES.part), LEASES.least), LEASES.most);
  }

  /** Asks the lender, one request at a time. @param least at least 1. @returns whether it had a byte. */
  #ask(least: number): Promise<boolean> {
    this.#asking ??= this.#lease(least).finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  /** Adds a lease, never of more than the limit of the sandbox allows. */
  async #lease(least: number): Promise<boolean> {
    const wanted = Math.min(Math.max(least, this.#block), this.left - this.#leaseLeft);
    if (this.#lender === null || wanted <= 0 || performance.now() < this.#emptyUntilMs) return false;
    const lease = await this.#lender.lease(wanted);
    if (lease.bytes === 0) {
      this.#emptyUntilMs = performance.now() + NOT_ASKED_MS;
      return false;
    }
    this.#leases.push({ lease, left: lease.bytes });
    this.#leaseLeft += lease.bytes;
    return true;
  }
}
