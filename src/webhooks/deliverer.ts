import type { Logger } from "pino";
import { type Meter, NO_METER } from "../domain/meter.ts";
import { NO_TRACER, type Tracer } from "../domain/tracer.ts";
import type { DeliveryBudget } from "../store/deliveries/choose-deliveries.ts";
import type { DeliveryClaim } from "../store/deliveries/types.ts";
import type { Store } from "../store/store.ts";
import { deliver } from "./deliver.ts";
import type { SendOptions } from "./send.ts";

export interface DelivererOptions extends SendOptions {
  readonly store: Store;
  readonly log: Logger;
  /** How long attempts may take to finish after `stop`. */
  readonly drainMs: number;
  /** How long a claim is valid, which is longer than an attempt can take. After this time, any process may repeat the attempt. */
  readonly leaseMs?: number;
  readonly meter?: Meter;
  readonly tracer?: Tracer;
}

const LEASE_MS = 30_000;

/** The most concurrent attempts of this process. A single account gets half of them (src/store/deliveries/choose-deliveries.ts). */
const MAX_CONCURRENT_ATTEMPTS = 64;
/**
 * The most bytes of the bodies that this process sends at the same time. A single account gets half of them. The longest record has
 * 12.6 MB, with 1 MiB of control characters on each of its two streams.
 */
const BODY_BUDGET_BYTES = 64 * 1024 * 1024;
/** The most concurrent attempts for an endpoint, in all processes together. If the endpoint does not respond, each takes ten seconds. */
const MAX_PER_ENDPOINT = 4;

/**
 * The longest sleep. Notifications of the store and due attempts end it at once. A delivery that another process has added without a
 * notification, such as a replay by a command, is seen after this time at the latest.
 */
const MOST_SLEEP_MS = 5_000;

/**
 * Sends due deliveries. Notifications of the store, the time at which a delivery is due, and the end of an attempt wake it. Its failures
 * do not affect the results of submissions.
 */
export class Deliverer {
  readonly #options: DelivererOptions;
  readonly #active = new Map<DeliveryClaim, Promise<void>>();
  readonly #abort = new AbortController();
  readonly #unsubscribe: () => void;
  #timer: NodeJS.Timeout | undefined;
  #claiming: Promise<void> | null = null;
  #again = false;
  #stopping = false;

  private constructor(options: DelivererOptions) {
    this.#options = options;
    this.#unsubscribe = options.store.onDeliveries(() => this.#wake());
    this.#wake();
  }

  static start(options: DelivererOptions): Deliverer {
    return new Deliverer(options);
  }

  /** Lets attempts under way finish, and releases those that take too long. Resolves when the store is no longer needed. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#unsubscribe();
    clearTimeout(this.#timer);
    await this.#claiming;
    const timer = setTimeout(() => this.#abort.abort(new Error("stopping")), this.#options.drainMs);
    await Promise.all(this.#active.values());
    clearTimeout(timer);
  }

  /** Starts a claim. If one is under way, another one follows it. */
  #wake(): void {
    if (this.#stopping) return;
    this.#again = true;
    this.#claiming ??= this.#claimAll().finally(() => {
      this.#claiming = null;
      if (this.#again) this.#wake(); // woken after the last check in the loop
    });
  }

  async #claimAll(): Promise<void> {
    const { store, log, now = Date.now, leaseMs = LEASE_MS } = this.#options;
    while (this.#again && !this.#stopping) {
      this.#again = false;
      const budget = this.#budget();
      if (budget.attempts === 0) return; // the end of an attempt starts the next claim
      const sinceMs = now();
      try {
        const claims = await store.deliveries.claimDue({ leaseMs, ...budget });
        for (const claim of claims) this.#begin(claim);
        this.#sleepUntil(await store.deliveries.nextDueMs(sinceMs));
      } catch (error) {
        log.error({ err: error }, "deliveries could not be claimed");
        this.#sleepUntil(null);
      }
    }
  }

  #budget(): DeliveryBudget {
    const heldBytes = new Map<string, number>();
    for (const { accountId, bodyBytes } of this.#active.keys())
      heldBytes.set(accountId, (heldBytes.get(accountId) ?? 0) + bodyBytes);
    const bodies = { budgetBytes: BODY_BUDGET_BYTES, heldBytes };
    return { attempts: MAX_CONCURRENT_ATTEMPTS - this.#active.size, perEndpoint: MAX_PER_ENDPOINT, bodies };
  }

  #sleepUntil(dueMs: number | null): void {
    const { now = Date.now } = this.#options;
    clearTimeout(this.#timer);
    if (this.#stopping) return;
    const sleepMs = Math.min(Math.max((dueMs ?? Number.POSITIVE_INFINITY) - now(), 0), MOST_SLEEP_MS);
    this.#timer = setTimeout(() => this.#wake(), sleepMs);
  }

  #begin(claim: DeliveryClaim): void {
    const attempt = this.#attempt(claim).finally(() => {
      this.#active.delete(claim);
      this.#wake();
    });
    this.#active.set(claim, attempt);
  }

  /** Makes a claimed attempt. Never rejects, so that a failure does not affect other deliveries. */
  async #attempt(claim: DeliveryClaim): Promise<void> {
    const { store, log, meter = NO_METER, tracer = NO_TRACER } = this.#options;
    const of = claim.kind === "test" ? {} : { submission: claim.messageId };
    const about = { delivery: claim.id, ...of, endpoint: claim.endpoint.id, attempt: claim.attempt };
    try {
      const sent = await deliver(claim, store, this.#options, this.#abort.signal);
      if (!sent) return;
      const { status, latencyMs, error } = sent.attempt;
      meter.time("webhookAttempts", { outcome: sent.nextState }, latencyMs / 1000);
      if (claim.kind !== "test") {
        const { messageId: submissionId, id: deliveryId, endpoint, attempt } = claim;
        const times = { startMs: sent.attempt.atMs, endMs: sent.attempt.atMs + latencyMs };
        const nextState = sent.nextState;
        tracer.attempted({ submissionId, deliveryId, endpointId: endpoint.id, attempt, status, nextState, ...times });
      }
      if (sent.result === "delivered") log.info({ ...about, status, latencyMs }, "delivered");
      else log.warn({ ...about, status, latencyMs, error }, "not delivered");
    } catch (error) {
      if (!this.#abort.signal.aborted) log.error({ ...about, err: error }, "the attempt could not be made");
      await this.#release(claim);
    }
  }

  /** Releases the claim if `stop` has ended the attempt. After other errors, and if this fails, the lease of the claim expires. */
  async #release(claim: DeliveryClaim): Promise<void> {
    try {
      if (this.#abort.signal.aborted) await this.#options.store.deliveries.release(claim);
    } catch (error) {
      this.#options.log.error({ delivery: claim.id, err: error }, "the attempt could not be released");
    }
  }
}
