import type { Meter } from "../domain/meter.ts";

export interface ConnectionLimits {
  /** Open at once. Some 100 kB each with TLS, so 2,000 silent clients cost 200 MB. */
  readonly maxConnections: number;
  /** The same for one address, of connections on which no valid key or session was shown yet. */
  readonly maxConnectionsPerAddress: number;
}

export const CONNECTIONS: ConnectionLimits = { maxConnections: 2_000, maxConnectionsPerAddress: 1_000 };

/** What a client holds: a connection, or a request under way. */
export interface Place {
  readonly from: string;
  /** Null: no valid key or session was shown on it. */
  owner: string | null;
  readonly end: () => void;
}

/**
 * Places of clients, by address until a key or session was shown, and then by account or person. Where there are too many, the
 * oldest one without a key is ended and the new one is let in: an honest client shows its key at once. An owner may have as many
 * as then remain for all others.
 */
export class Places {
  readonly #limits: ConnectionLimits;
  readonly #meter: Meter;
  /** Of those without an owner, by address; the oldest first. */
  readonly #strangers = new Map<string, Set<Place>>();
  readonly #owned = new Map<string, number>();
  readonly #all = new Set<Place>();
  #ownedInAll = 0;

  constructor(limits: Partial<ConnectionLimits>, meter: Meter) {
    this.#limits = { ...CONNECTIONS, ...limits };
    this.#meter = meter;
  }

  /** @returns the most that there are at once. */
  get most(): number {
    return this.#limits.maxConnections;
  }

  /**
   * @param from the address of the client. @param end ends what holds the place; the place is free by then.
   * @returns undefined when every place has an owner.
   */
  take(from: string, end: () => void): Place | undefined {
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
   * A valid key or session was shown.
   * @returns whether its owner may have the place.
   */
  own(place: Place, owner: string): boolean {
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

  /** It is over. A place that was ended has left already. */
  leave(place: Place): void {
    if (this.#all.delete(place)) this.#leaveCount(place);
  }

  /** Takes it out of the count that it is in. */
  #leaveCount(place: Place): void {
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
