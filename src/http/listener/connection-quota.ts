import type { Meter } from "../../domain/meter.ts";

export interface ConnectionLimits {
  /** Open at once. Each takes some 100 kB with TLS, so 2,000 idle clients cost 200 MB. */
  readonly maxConnections: number;
  /** Per address, for connections without a valid key or session yet. */
  readonly maxConnectionsPerAddress: number;
}

export const CONNECTIONS: ConnectionLimits = { maxConnections: 2_000, maxConnectionsPerAddress: 1_000 };

/** A connection, or a request in progress. */
export interface CountedConnection {
  readonly from: string;
  /** Null: no valid key or session so far. */
  owner: string | null;
  readonly end: () => void;
}

/**
 * Places of clients, counted by address until a key or session is shown, and then by account or person. When all are
 * taken, the oldest place without an owner is ended and given to the new client: a legitimate client shows its key at
 * once. An owner may have as many places as then remain free.
 */
export class ConnectionQuota {
  readonly #limits: ConnectionLimits;
  readonly #meter: Meter;
  /** Places without an owner, by address, oldest first. */
  readonly #strangers = new Map<string, Set<CountedConnection>>();
  readonly #owned = new Map<string, number>();
  readonly #all = new Set<CountedConnection>();
  #ownedInAll = 0;

  constructor(limits: Partial<ConnectionLimits>, meter: Meter) {
    this.#limits = { ...CONNECTIONS, ...limits };
    this.#meter = meter;
  }

  /** @returns the maximum number of places. */
  get most(): number {
    return this.#limits.maxConnections;
  }

  /**
   * @param from the address of the client. @param end ends the connection or request that holds the place, after the
   * place was released.
   * @returns undefined when every place has an owner.
   */
  take(from: string, end: () => void): CountedConnection | undefined {
    const strangers = this.#strangers.get(from)?.size ?? 0;
    if (strangers >= this.#limits.maxConnectionsPerAddress) this.#endOldest(from, "address");
    if (this.#all.size >= this.most && !this.#endOldest(this.#mostStrangers(), "all")) {
      this.#meter.count("connectionsRefused", { limit: "all" });
      return undefined;
    }
    const place = { from, owner: null, end };
    this.#all.add(place);
    this.#strangers.set(from, (this.#strangers.get(from) ?? new Set()).add(place));
    return place;
  }

  /**
   * Assigns a place to the owner of a valid key or session.
   * @returns whether the owner may have the place.
   */
  own(place: CountedConnection, owner: string): boolean {
    if (!this.#all.has(place) || place.owner === owner) return true;
    const others = this.#owned.get(owner) ?? 0;
    const free = this.most - this.#ownedInAll + (place.owner === null ? 0 : 1);
    if (others + 1 > free) return false;
    this.#leaveCount(place);
    place.owner = owner;
    this.#owned.set(owner, others + 1);
    this.#ownedInAll++;
    return true;
  }

  /** Releases a place. Has no effect on a place that was ended. */
  leave(place: CountedConnection): void {
    if (this.#all.delete(place)) this.#leaveCount(place);
  }

  /** Subtracts the place from its owner's or address's count. */
  #leaveCount(place: CountedConnection): void {
    const { owner, from } = place;
    if (owner === null) {
      const strangers = this.#strangers.get(from);
      strangers?.delete(place);
      if (strangers?.size === 0) this.#strangers.delete(from);
      return;
    }
    this.#ownedInAll--;
    const left = (this.#owned.get(owner) ?? 1) - 1;
    if (left > 0) this.#owned.set(owner, left);
    else this.#owned.delete(owner);
  }

  #mostStrangers(): string | undefined {
    let most: string | undefined;
    for (const [from, { size }] of this.#strangers) {
      if (most === undefined || size > (this.#strangers.get(most)?.size ?? 0)) most = from;
    }
    return most;
  }

  #endOldest(from: string | undefined, limit: "address" | "all"): boolean {
    const [oldest] = this.#strangers.get(from ?? "") ?? [];
    if (!oldest) return false;
    this.#meter.count("connectionsRefused", { limit });
    this.leave(oldest);
    oldest.end();
    return true;
  }
}
