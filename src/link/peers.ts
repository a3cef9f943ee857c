import type { Logger } from "pino";
import { HeartbeatMonitor } from "../domain/heartbeat-monitor.ts";
import type { SeenLink } from "../store/links.ts";
import type { Store } from "../store/store.ts";

/** How often the announcements are read in the duration of a lease, in addition to the reads after notifications. */
const READS_PER_LEASE = 3;
/** Announcements per lease: two in a row may fail before it expires. */
const ANNOUNCEMENTS_PER_LEASE = 3;
/** The least time between two reads that an unknown certificate causes. */
const LEAST_READ_MS = 500;

export interface PeersOptions {
  readonly store: Pick<Store, "links">;
  /** What this process announces; `address` and `capacity` do not change. */
  readonly own: Omit<SeenLink, "untilMs">;
  readonly leaseMs: number;
  readonly log: Logger;
  /** Called after each read. */
  readonly onRead: () => void;
}

/** The other processes that have links, as the database says, and the announcement of this one. */
export class Peers {
  readonly #options: PeersOptions;
  readonly #heartbeats = new HeartbeatMonitor();
  readonly #timers: readonly NodeJS.Timeout[];
  readonly #unsubscribe: () => void;
  #live: ReadonlyMap<string, SeenLink> = new Map();
  #reading: Promise<void> | null = null;
  #mustRead = false;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #isStopped = false;

  private constructor(options: PeersOptions) {
    this.#options = options;
    const { leaseMs } = options;
    this.#unsubscribe = options.store.links.onChange(() => void this.read());
    this.#timers = [
      setInterval(() => void this.#announce(), leaseMs / ANNOUNCEMENTS_PER_LEASE),
      setInterval(() => void this.read(), leaseMs / READS_PER_LEASE),
    ];
  }

  /** Announces this process and reads the others. @throws if the database cannot be used. */
  static async start(options: PeersOptions): Promise<Peers> {
    const peers = new Peers(options);
    try {
      await options.store.links.announce(options.own, options.leaseMs);
      await peers.read();
    } catch (error) {
      peers.#end();
      throw error;
    }
    return peers;
  }

  /** The other processes that live, by their ids. */
  get live(): ReadonlyMap<string, SeenLink> {
    return this.#live;
  }

  /** The living process with this certificate. If it is not known, it may be new, and the announcements are read again. */
  async withFingerprint(fingerprint: string): Promise<SeenLink | null> {
    const known = this.#find(fingerprint);
    if (known || performance.now() - this.#readAtMs < LEAST_READ_MS) return known;
    await this.read();
    return this.#find(fingerprint);
  }

  /** Withdraws the announcement. */
  async stop(): Promise<void> {
    this.#end();
    await this.#reading;
    const { store, own, log } = this.#options;
    await store.links
      .leave(own.id)
      .catch((error: unknown) =>
        log.warn({ err: error }, "the announcement of links could not be withdrawn; it will expire"),
      );
  }

  #end(): void {
    this.#isStopped = true;
    this.#unsubscribe();
    for (const timer of this.#timers) clearInterval(timer);
  }

  #find(fingerprint: string): SeenLink | null {
    for (const link of this.#live.values()) if (link.fingerprint === fingerprint) return link;
    return null;
  }

  async #announce(): Promise<void> {
    const { store, own, leaseMs, log } = this.#options;
    await store.links
      .announce(own, leaseMs)
      .catch((error: unknown) => log.error({ err: error }, "the links of this process could not be announced"));
  }

  /** Reads the announcements. What changes during a read is read again. */
  read(): Promise<void> {
    if (this.#isStopped) return Promise.resolve();
    this.#mustRead = true;
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #readAll(): Promise<void> {
    const { store, own, leaseMs, log, onRead } = this.#options;
    while (this.#mustRead) {
      this.#mustRead = false;
      this.#readAtMs = performance.now();
      try {
        const all = (await store.links.announced()).filter(({ id }) => id !== own.id);
        const announced = new Map(all.map(({ id, untilMs }) => [id, untilMs]));
        // By the clock of the other process only until a heartbeat was observed (HeartbeatMonitor).
        const ago = (id: string) => Math.max(Date.now() - ((announced.get(id) ?? 0) - leaseMs), 0);
        const silent = this.#heartbeats.observe(announced, leaseMs, ago);
        this.#live = new Map(all.filter(({ id }) => !silent.has(id)).map((link) => [link.id, link]));
      } catch (error) {
        log.warn({ err: error }, "the links of other processes could not be read");
      }
      if (!this.#isStopped) onRead();
    }
  }
}
