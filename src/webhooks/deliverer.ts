import type { Logger } from "pino";
import { type Meter, NO_METER } from "../domain/meter.ts";
import { NO_TRACER, type Tracer } from "../domain/tracer.ts";
import type { Room } from "../store/delivery-share.ts";
import type { DeliveryClaim, Store } from "../store/port.ts";
import { deliver } from "./deliver.ts";
import type { SendOptions } from "./send.ts";

export interface DelivererOptions extends SendOptions {
  readonly store: Store;
  readonly log: Logger;
  /** How long attempts may go on once stopping. */
  readonly drainMs: number;
  /** Longer than an attempt can take: after it, another process repeats the attempt. */
  readonly leaseMs?: number;
  /** Told of every attempt. */
  readonly meter?: Meter;
  readonly tracer?: Tracer;
}

const LEASE_MS = 30_000;

/** Attempts at once, in this process; an account alone gets half of them (src/store/delivery-share.ts). */
const PLACES = 64;
/**
 * Bytes of bodies that are being sent, in this process; an account alone gets half of them. The longest record has
 * 12.6 MB: 1 MiB of control characters on both streams.
 */
const BODY_BUDGET_BYTES = 64 * 1024 * 1024;
/** Of one endpoint, over all processes: one that never answers holds so many for ten seconds each. */
const MAX_PER_ENDPOINT = 4;

/**
 * Longest sleep. What this process does wakes it at once, and so does the time of the next
 * attempt; a command that runs beside it (a replay) is seen by the next look.
 */
const LOOK_MS = 5_000;

/**
 * Sends what is due: woken by the store, by the clock and by attempts that end. It has no
 * part in a submission's result; whatever goes wrong here stays here.
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

  /** Lets attempts that are under way end, or gives them back; resolves when the store is not needed any more. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#unsubscribe();
    clearTimeout(this.#timer);
    await this.#claiming;
    const timer = setTimeout(() => this.#abort.abort(new Error("stopping")), this.#options.drainMs);
    await Promise.all(this.#active.values());
    clearTimeout(timer);
  }

  /** At most one claim at a time; what woke us meanwhile is looked at after it. */
  #wake(): void {
    if (this.#stopping) return;
    this.#again = true;
    this.#claiming ??= this.#claimAll().finally(() => {
      this.#claiming = null;
      if (this.#again) this.#wake(); // it came between the last look and here
    });
  }

  async #claimAll(): Promise<void> {
    const { store, log, now = Date.now, leaseMs = LEASE_MS } = this.#options;
    while (this.#again && !this.#stopping) {
      this.#again = false;
      const room = this.#room();
      if (room.places === 0) return; // the end of an attempt wakes us
      const sinceMs = now();
      try {
        const claims = await store.deliveries.claimDue({ leaseMs, ...room });
        for (const claim of claims) this.#begin(claim);
        this.#sleepUntil(await store.deliveries.nextDueMs(sinceMs));
      } catch (error) {
        log.error({ err: error }, "deliveries could not be claimed");
        this.#sleepUntil(null);
      }
    }
  }

  #room(): Room {
    const heldBytes = new Map<string, number>();
    for (const { accountId, bodyBytes } of this.#active.keys())
      heldBytes.set(accountId, (heldBytes.get(accountId) ?? 0) + bodyBytes);
    const bodies = { budgetBytes: BODY_BUDGET_BYTES, heldBytes };
    return { places: PLACES - this.#active.size, perEndpoint: MAX_PER_ENDPOINT, bodies };
  }

  #sleepUntil(dueMs: number | null): void {
    const { now = Date.now } = this.#options;
    clearTimeout(this.#timer);
    if (this.#stopping) return;
    const sleepMs = Math.min(Math.max((dueMs ?? Number.POSITIVE_INFINITY) - now(), 0), LOOK_MS);
    this.#timer = setTimeout(() => this.#wake(), sleepMs);
  }

  #begin(claim: DeliveryClaim): void {
    const attempt = this.#attempt(claim).finally(() => {
      this.#active.delete(claim);
      this.#wake();
    });
    this.#active.set(claim, attempt);
  }

  /** Never rejects: one delivery's trouble is not another's. */
  async #attempt(claim: DeliveryClaim): Promise<void> {
    const { store, log, meter = NO_METER, tracer = NO_TRACER } = this.#options;
    const of = claim.kind === "test" ? {} : { submission: claim.messageId };
    const about = { delivery: claim.id, ...of, endpoint: claim.endpoint.id, attempt: claim.attempt };
    try {
      const sent = await deliver(claim, store, this.#options, this.#abort.signal);
      if (!sent) return;
      const { status, latencyMs, error } = sent.attempt;
      meter.time("webhookAttempts", { outcome: sent.became }, latencyMs / 1000);
      if (claim.kind !== "test") {
        const { messageId: submissionId, id: deliveryId, endpoint, attempt } = claim;
        const times = { startMs: sent.attempt.atMs, endMs: sent.attempt.atMs + latencyMs };
        const became = sent.became;
        tracer.attempted({ submissionId, deliveryId, endpointId: endpoint.id, attempt, status, became, ...times });
      }
      if (sent.ending === "delivered") log.info({ ...about, status, latencyMs }, "delivered");
      else log.warn({ ...about, status, latencyMs, error }, "not delivered");
    } catch (error) {
      if (!this.#abort.signal.aborted) log.error({ ...about, err: error }, "the attempt could not be made");
      await this.#release(claim);
    }
  }

  /** Where even this fails, the lease runs out by itself. */
  async #release(claim: DeliveryClaim): Promise<void> {
    try {
      if (this.#abort.signal.aborted) await this.#options.store.deliveries.release(claim);
    } catch (error) {
      this.#options.log.error({ delivery: claim.id, err: error }, "could not be given back");
    }
  }
}
