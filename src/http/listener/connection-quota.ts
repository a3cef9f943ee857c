import type { Meter } from "../../domain/meter.ts";
import { Budget, type Release } from "../../fairness/budget.ts";

export interface ConnectionLimits {
  /** The most connections that are open at once. With TLS, each takes some 100 kB, so 2,000 idle clients cost 200 MB. */
  readonly maxConnections: number;
  /** The most connections of one network on which no valid key or session has been shown. */
  readonly maxConnectionsPerAddress: number;
}

export const CONNECTIONS: ConnectionLimits = { maxConnections: 2_000, maxConnectionsPerAddress: 1_000 };

/** A connection, or behind a proxy a request in progress (connections.ts). */
export interface CountedConnection {
  /** The network of the client. */
  readonly from: string;
  /** The account or person to whom it is charged; null before a valid key or session is shown. */
  owner: string | null;
  /** How many requests are in progress on the connection. */
  requests: number;
  /** Gives the connection back to the budget of owners; null without an owner. */
  release: Release | null;
  /** Closes the connection. */
  readonly end: () => void;
}

/**
 * Limits connections. They are counted by network until a key or session is shown, and then in a budget that accounts and people share.
 * If a new client finds too many connections, a connection without an owner is ended for it: the oldest one of the network that has the
 * most of them. A legitimate client shows its key at once. If every connection has an owner, the connection that has been idle for the
 * longest time is ended, of the owner who has the most connections among those with an idle one.
 */
export class ConnectionQuota {
  readonly #limits: ConnectionLimits;
  readonly #meter: Meter;
  /** Connections without an owner, by network, oldest first. */
  readonly #strangers = new Map<string, Set<CountedConnection>>();
  readonly #all = new Set<CountedConnection>();
  /** Connections with an owner. */
  readonly #owned: Budget;
  /** The idle connections of each owner, in the order in which they became idle. */
  readonly #idle = new Map<string, Set<CountedConnection>>();

  constructor(limits: Partial<ConnectionLimits>, meter: Meter) {
    this.#limits = { ...CONNECTIONS, ...limits };
    this.#owned = new Budget({ total: this.most + 1, perOwner: "shared" }); // A shared budget always leaves one free.
    this.#meter = meter;
  }

  /** The most connections that are open at once. */
  get most(): number {
    return this.#limits.maxConnections;
  }

  /**
   * Counts a new connection.
   * @param from the network of the client. @param end closes the connection; it is called after the connection is no longer counted.
   * @returns undefined if there are too many connections, and each has an owner and is in use.
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
   * Charges a connection to the owner of a valid key or session.
   * @returns false if the owner may not have another connection.
   */
  assign(connection: CountedConnection, owner: string): boolean {
    if (!this.#all.has(connection) || connection.owner === owner) return true;
    if (!this.#owned.fits(owner, 1, connection.owner === null ? 0 : 1)) return false;
    this.#subtract(connection);
    connection.owner = owner;
    connection.release = this.#owned.take(owner, 1) ?? null;
    return true;
  }

  /** Notes that a request begins on the connection. The connection is in use until requestEnded() is called for its last request. */
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

  /** Ends an idle connection, as the comment of the class says. @returns false if no connection with an owner is idle. */
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

  /** Stops counting a connection. This has no effect if the connection is no longer counted. */
  leave(connection: CountedConnection): void {
    if (this.#all.delete(connection)) this.#subtract(connection);
  }

  /** Subtracts the connection from those of its owner, or of its network if it has no owner. */
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

  /** The network with the most connections without an owner; undefined if there are no such connections. */
  #mostStrangers(): string | undefined {
    let most: string | undefined;
    for (const [from, { size }] of this.#strangers) {
      if (most === undefined || size > (this.#strangers.get(most)?.size ?? 0)) most = from;
    }
    return most;
  }

  /** Ends the oldest connection of a network that has no owner. @returns false if there is none. */
  #endOldest(from: string | undefined, limit: "address" | "all"): boolean {
    const [oldest] = this.#strangers.get(from ?? "") ?? [];
    if (!oldest) return false;
    this.#meter.count("connectionsRefused", { limit });
    this.leave(oldest);
    oldest.end();
    return true;
  }
}
