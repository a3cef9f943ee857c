import type { Logger } from "pino";
import type { Store } from "../../store/store.ts";
import type { SandboxKeeper } from "./keeper.ts";

/** Pause before a failed claim is tried again. */
const RETRY_MS = 1_000;

export interface SandboxClaimsOptions {
  readonly store: Pick<Store, "sandboxes">;
  readonly keeper: SandboxKeeper;
  /** The services that can ask this process for sandboxes now, and when they change. */
  readonly services: { current(): readonly string[]; onChange(listener: () => void): () => void };
  readonly log: Logger;
}

/** Claims sandboxes that wait for a process. New ones, room that becomes free and services that can ask wake it; it does not poll. */
export class SandboxClaims {
  readonly #options: SandboxClaimsOptions;
  readonly #unsubscribe: readonly (() => void)[];
  #claiming: Promise<void> | null = null;
  #mustClaim = false;
  #retry: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: SandboxClaimsOptions) {
    this.#options = options;
    const wake = () => this.#wake();
    const { store, keeper, services } = options;
    this.#unsubscribe = [store.sandboxes.onWaiting(wake), keeper.onRoom(wake), services.onChange(wake)];
    wake();
  }

  /** Claims nothing more. It resolves when no claim is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#retry);
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await this.#claiming;
  }

  #wake(): void {
    if (this.#isStopped) return;
    this.#mustClaim = true;
    this.#claiming ??= this.#claim().finally(() => {
      this.#claiming = null;
    });
  }

  async #claim(): Promise<void> {
    const { keeper, services, log } = this.#options;
    while (this.#mustClaim && !this.#isStopped) {
      this.#mustClaim = false;
      try {
        await keeper.claim(services.current());
      } catch (error) {
        log.error({ err: error }, "waiting sandboxes could not be claimed; trying again");
        if (!this.#isStopped) this.#retry = setTimeout(() => this.#wake(), RETRY_MS);
      }
    }
  }
}
