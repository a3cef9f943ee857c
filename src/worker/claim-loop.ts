import type { Logger } from "pino";
import type { Slot } from "../sandbox/slot.ts";
import type { Store } from "../store/store.ts";
import type { Claim } from "../store/submissions/types.ts";
import type { Slots } from "./slots.ts";

export interface ClaimLoopOptions {
  readonly store: Store;
  readonly workerId: string;
  readonly leaseMs: number;
  readonly slots: Slots;
  /** Takes the slot for a claim out of the list. */
  readonly choose: (claim: Claim, slots: Slot[]) => Slot | undefined;
  readonly log: Logger;
  /** Receives each claim with the slot taken for it. */
  readonly onClaim: (claim: Claim, slot: Slot) => void;
}

/** A notification is not repeated, so a failed claim needs a retry of its own. */
const RETRY_MS = 1_000;

/** Claims submissions for free slots. The store and free slots wake it; it never polls. */
export class ClaimLoop {
  readonly #options: ClaimLoopOptions;
  readonly #unsubscribe: () => void;
  #claiming: Promise<void> | null = null;
  #again = false;
  #retry: NodeJS.Timeout | undefined;
  #stopping = false;

  constructor(options: ClaimLoopOptions) {
    this.#options = options;
    this.#unsubscribe = options.store.onWork(() => this.wake());
  }

  /** Starts a claim. During a claim, it causes one more claim after it. */
  wake(): void {
    this.#again = true;
    this.#claiming ??= this.#claimAll().finally(() => {
      this.#claiming = null;
      if (this.#again && !this.#stopping) this.wake(); // woken after the last check in the loop
    });
  }

  /** Claims nothing more; resolves after the claim under way. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#unsubscribe();
    clearTimeout(this.#retry);
    await this.#claiming;
  }

  async #claimAll(): Promise<void> {
    const { store, workerId, leaseMs, slots, log, choose, onClaim } = this.#options;
    while (this.#again && !this.#stopping) {
      this.#again = false;
      const { capacity } = slots;
      if (capacity <= 0) return;
      const taken = slots.takeAll();
      if (taken.length === 0) return;
      let claims: Claim[] = [];
      try {
        claims = await store.submissions.claim(workerId, leaseMs, Math.min(capacity, taken.length));
      } catch (error) {
        log.error({ err: error }, "claim failed");
        clearTimeout(this.#retry);
        if (!this.#stopping) this.#retry = setTimeout(() => this.wake(), RETRY_MS);
      }
      for (const claim of claims) onClaim(claim, choose(claim, taken) as Slot);
      for (const slot of taken) this.#putBack(slot);
    }
  }

  /** Returns an unused slot without waking the loop, because there was no work for it. */
  #putBack(slot: Slot): void {
    const again = this.#again;
    this.#options.slots.give(slot);
    this.#again = again;
  }
}
