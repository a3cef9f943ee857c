import type { Meter } from "../../domain/meter.ts";
import { Budget, type Release } from "../../fairness/budget.ts";

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
  /** How many requests are in progress on it. */
  requests: number;
  /** Gives the connection back to the budget of its owner. */
  release: Release | null;
  readonly end: () => void;
}

/**
 * Limits connections, counted by address until a key or session is shown, and then in a shared budget of accounts and persons.
 * When there are too many, the oldest connection without an owner is ended for the new client, because a legitimate client shows its
 * key at once. If every connection has an owner, the longest-idle connection of the owner with the most connections is ended.
 */
export class ConnectionQuota {
  readonly #limits: ConnectionLimits;
  readonly #meter: Meter;
  /** Connections without an owner, by address, oldest first. */
  readonly #strangers = new Map<string, Set<CountedConnection>>();
  readonly #all = new Set<CountedConnection>();
  /** Connections with an owner. */
  readonly #owned: Budget;
  /** The idle connections of each owner, in the order in which they became idle. */
  readonly #idle = new Map<string, Set<CountedConnection>>();

  constructor(limits: Partial<ConnectionLimits>, meter: Meter) {
    this.#limits = { ...CONNECTIONS, ...limits };
    this.#owned = new Budget({ total: this.most + 1, perOwner: "shared" }); // of which one always stays free
    this.#meter = meter;
  }

  /** @returns the maximum number of connections. */
  get most(): number {
    return this.#limits.maxConnections;
  }

  /**
   * Counts a new connection.
   * @param from the address of the client. @param end ends the connection or request, which is no longer counted then.
   * @returns undefined when every connection has an owner.
   */
  take(from: string, end: () => void): CountedConnection | undefined {
    const strangers = this.#strangers.get(from)?.size ?? 0;
    if (strangers >= this.#limits.maxConnectionsPerAddress) this.#endOldest(from, "address");
    if (this.#all.size >= this.most && !this.#endOldest(this.#mostStrangers(), "all") && !this.#endIdle()) {
      this.#meter.count("connectionsRefused", { limit: "all" });
      return undefined;
    }
    const connection = { from, owner: null, release: null, requests: 0, end };
    this.#all.add(connection);
    this.#strangers.set(from, (this.#strangers.get(from) ?? new Set()).add(connection));
    return connection;
  }

  /**
   * Assigns a connection to the owner of a valid key or session.
   * @returns whether the owner may have it.
   */
  assign(connection: CountedConnection, owner: string): boolean {
    if (!this.#all.has(connection) || connection.owner === owner) return true;
    if (!this.#owned.fits(owner, 1, connection.owner === null ? 0 : 1)) return false;
    this.#subtract(connection);
    connection.owner = owner;
    connection.release = this.#owned.take(owner, 1) ?? null;
    return true;
  }

  /** Notes that a request begins on the connection, which is not idle until `requestEnded`. */
  requestBegan(connection: CountedConnection): void {
    connection.requests++;
    this.#forgetIdle(connection);
  }

  requestEnded(connection: CountedConnection): void {
    connection.requests--;
    const { owner, requests } = connection;
    if (requests > 0 || owner === null || !this.#all.has(connection)) return;
    this.#idle.set(owner, (this.#idle.get(owner) ?? new Set()).add(connection));
  }

  #forgetIdle(connection: CountedConnection): void {
    const idle = connection.owner === null ? undefined : this.#idle.get(connection.owner);
    idle?.delete(connection);
    if (connection.owner !== null && idle?.size === 0) this.#idle.delete(connection.owner);
  }

  /** Ends the longest-idle connection of the owner that has the most connections. */
  #endIdle(): boolean {
    let [most, held] = ["", 0];
    for (const owner of this.#idle.keys()) {
      const holds = this.#owned.heldBy(owner);
      if (holds > held) [most, held] = [owner, holds];
    }
    const [oldest] = this.#idle.get(most) ?? [];
    if (!oldest) return false;
    this.#meter.count("connectionsRefused", { limit: "all" });
    this.leave(oldest);
    oldest.end();
    return true;
  }

  /** Stops counting a connection. Has no effect if it is no longer counted. */
  leave(connection: CountedConnection): void {
    if (this.#all.delete(connection)) this.#subtract(connection);
  }

  /** Subtracts the connection from its owner's or address's count. */
  #subtract(connection: CountedConnection): void {
    const { owner, from, release } = connection;
    if (owner !== null) {
      this.#forgetIdle(connection);
      release?.();
      return;
    }
    const strangers = this.#strangers.get(from);
    strangers?.delete(connection);
    if (strangers?.size === 0) this.#strangers.delete(from);
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
