import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Meter } from "../domain/meter.ts";
import { network } from "./network.ts";

export interface ConnectionLimits {
  /** Open at once. Some 100 kB each with TLS, so 2,000 silent clients cost 200 MB. */
  readonly maxConnections: number;
  /** The same for one address, of connections on which no valid key or session was shown yet. */
  readonly maxConnectionsPerAddress: number;
}

export const CONNECTIONS: ConnectionLimits = { maxConnections: 2_000, maxConnectionsPerAddress: 1_000 };

interface Connection {
  /** See nameOf: a socket that was destroyed has no local address any more. */
  readonly name: string;
  readonly socket: Socket;
  readonly from: string;
  /** Null: no valid key or session was shown on it. */
  owner: string | null;
}

/**
 * Connections of clients, by address until a key or session was shown on them, and then by account or person. Where there are too
 * many, the oldest one without a key is closed and the new one is let in: an honest client shows its key at once. An owner may have
 * as many as then remain for all others.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #meter: Meter;
  readonly #open = new Map<string, Connection>();
  /** Of those without an owner, by address; the oldest first. */
  readonly #strangers = new Map<string, Set<Connection>>();
  readonly #owned = new Map<string, number>();
  #ownedInAll = 0;

  constructor(limits: Partial<ConnectionLimits>, meter: Meter) {
    this.#limits = { ...CONNECTIONS, ...limits };
    this.#meter = meter;
  }

  /** Watches a server whose connections are those of its clients, by TCP. */
  watch(server: Server): void {
    server.on("connection", (socket: Socket) => {
      const name = nameOf(socket);
      if (name === undefined) return;
      const from = network(socket.remoteAddress ?? "");
      const strangers = this.#strangers.get(from);
      if ((strangers?.size ?? 0) >= this.#limits.maxConnectionsPerAddress) this.#closeOldest(from, "address");
      if (this.#open.size >= this.#limits.maxConnections && !this.#closeOldest(this.#mostStrangers(), "all")) {
        this.#meter.count("connectionsRefused", { limit: "all" });
        socket.destroy();
        return;
      }
      this.#add({ name, socket, from, owner: null });
    });
  }

  /**
   * A valid key or session was shown on the connection.
   * @returns whether its owner may have it.
   */
  isOwned(socket: Socket, owner: string): boolean {
    const name = nameOf(socket);
    const connection = name === undefined ? undefined : this.#open.get(name);
    if (!connection || connection.owner === owner) return true;
    const others = this.#owned.get(owner) ?? 0;
    const free = this.#limits.maxConnections - this.#ownedInAll + (connection.owner === null ? 0 : 1);
    if (others + 1 > free) return false;
    this.#leave(connection);
    connection.owner = owner;
    this.#owned.set(owner, others + 1);
    this.#ownedInAll++;
    return true;
  }

  /** @returns the most that are open at once. */
  get most(): number {
    return this.#limits.maxConnections;
  }

  #add(connection: Connection): void {
    const { name, socket, from } = connection;
    this.#open.set(name, connection);
    const strangers = this.#strangers.get(from) ?? new Set();
    this.#strangers.set(from, strangers.add(connection));
    socket.once("close", () => {
      if (this.#open.get(name) === connection) this.#open.delete(name);
      this.#leave(connection);
    });
  }

  /** Takes it out of the count that it is in. */
  #leave(connection: Connection): void {
    const { owner, from } = connection;
    if (owner === null) {
      const strangers = this.#strangers.get(from);
      strangers?.delete(connection);
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

  #closeOldest(from: string | undefined, limit: "address" | "all"): boolean {
    const [oldest] = this.#strangers.get(from ?? "") ?? [];
    if (!oldest) return false;
    this.#meter.count("connectionsRefused", { limit });
    // Its close event comes later, and the new connection is counted now.
    this.#leave(oldest);
    this.#strangers.get(oldest.from)?.delete(oldest);
    this.#open.delete(oldest.name);
    oldest.socket.destroy();
    return true;
  }
}

/**
 * The same for the TCP socket and the TLS socket on it; undefined for a socket file, which has no addresses. Both ends are in it:
 * a client can connect one port to several addresses of the server at once.
 */
function nameOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string | undefined {
  return remotePort === undefined ? undefined : `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
