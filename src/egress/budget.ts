/*
 * Budgets of bytes. Bytes are reserved before they are forwarded, so the use never exceeds a budget by a byte, whatever the number of connections. A
 * budget of a sandbox can have a lender, such as the bytes of an account on one day, which several workers share: it is leased in blocks, and what was not
 * used is given back.
 */

/** The bytes that are leased at once. */
const BLOCK_BYTES = 16 * 1024 * 1024;

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

/** The budget of a sandbox in one direction. */
export class ByteBudget {
  #limit: number;
  readonly #lender: ByteLender | null;
  readonly #blockBytes: number;
  #used = 0;
  #lease: Lease | null = null;
  #leaseLeft = 0;
  /** The takes that wait for a lease, and the end of the last one. They are served in order. */
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /** @param lender null: only the limit of the sandbox itself holds. */
  constructor(limit: number, lender: ByteLender | null = null, blockBytes = BLOCK_BYTES) {
    this.#limit = limit;
    this.#lender = lender;
    this.#blockBytes = blockBytes;
  }

  /** The bytes that were reserved. */
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
    await this.#giveBack();
  }

  #reserve(bytes: number): number {
    this.#used += bytes;
    if (this.#lender !== null) this.#leaseLeft -= bytes;
    return bytes;
  }

  async #takeLeased(wanted: number): Promise<number> {
    let taken = 0;
    while (!this.#isClosed) {
      const bytes = Math.min(wanted - taken, this.left, this.#leaseLeft);
      taken += this.#reserve(bytes);
      const missing = Math.min(wanted - taken, this.left);
      if (missing === 0 || !(await this.#renew(missing, taken))) break;
    }
    return taken;
  }

  /** Replaces the lease, which is used up. @returns whether the lender had at least one byte. */
  async #renew(missing: number, taken: number): Promise<boolean> {
    try {
      await this.#giveBack();
      this.#lease = (await this.#lender?.lease(Math.max(missing, Math.min(this.#blockBytes, this.left)))) ?? null;
    } catch (error) {
      this.#used -= taken; // nobody forwards these bytes
      throw error;
    }
    this.#leaseLeft = this.#lease?.bytes ?? 0;
    return this.#leaseLeft > 0;
  }

  async #giveBack(): Promise<void> {
    const lease = this.#lease;
    const unused = this.#leaseLeft;
    this.#lease = null;
    this.#leaseLeft = 0;
    if (lease && unused > 0) await lease.giveBack(unused);
  }
}
