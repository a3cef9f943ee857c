import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ConnectionQuota, CountedConnection } from "./connection-quota.ts";
import { network } from "./network.ts";

/** Limits the clients of a listener: their connections, or their requests in progress. */
export interface Clients {
  /** Begins to limit the clients of a server. It must be called before the server listens. */
  watch(server: Server): void;
  /** Notes that a request begins. @returns whether the request may be handled. */
  began(request: FastifyRequest, reply: FastifyReply): boolean;
  /** Charges the connection, or the request, to the owner of a valid key or session. @returns false if the owner may not have another. */
  assign(request: FastifyRequest, owner: string): boolean;
}

/** Counts each TCP connection. */
export class Connections implements Clients {
  readonly #quota: ConnectionQuota;
  /** The counted connections by nameOf(). The name is found once, because a destroyed socket no longer has a local address. */
  readonly #open = new Map<string, CountedConnection>();

  constructor(quota: ConnectionQuota) {
    this.#quota = quota;
  }

  watch(server: Server): void {
    server.on("connection", (socket: Socket) => {
      const name = nameOf(socket);
      if (name === undefined) return;
      const connection = this.#quota.take(network(socket.remoteAddress ?? ""), () => socket.destroy());
      if (!connection) {
        socket.destroy();
        return;
      }
      this.#open.set(name, connection);
      socket.once("close", () => {
        if (this.#open.get(name) === connection) this.#open.delete(name);
        this.#quota.leave(connection);
      });
    });
  }

  began({ raw }: Pick<FastifyRequest, "raw">, reply: Pick<FastifyReply, "raw">): boolean {
    const connection = this.#open.get(nameOf(raw.socket) ?? "");
    if (!connection) return true;
    this.#quota.requestBegan(connection);
    // The connection of a WebSocket is in use until it is closed.
    if (raw.headers.upgrade === undefined) reply.raw.once("close", () => this.#quota.requestEnded(connection));
    return true;
  }

  assign({ raw }: Pick<FastifyRequest, "raw">, owner: string): boolean {
    const connection = this.#open.get(nameOf(raw.socket) ?? "");
    return !connection || this.#quota.assign(connection, owner);
  }
}

/** Behind a proxy, there may be more connections than requests in progress, because idle connections of the proxy must not block a request. */
const CONNECTIONS_FOR_EACH_REQUEST = 2;

/** Behind a proxy, counts each request in progress, because all connections belong to the proxy. */
export class RequestsUnderWay implements Clients {
  readonly #quota: ConnectionQuota;
  readonly #underWay = new WeakMap<FastifyRequest["raw"], CountedConnection>();

  constructor(quota: ConnectionQuota) {
    this.#quota = quota;
  }

  watch(server: Server): void {
    server.maxConnections = CONNECTIONS_FOR_EACH_REQUEST * this.#quota.most;
  }

  began({ ip, raw }: FastifyRequest, reply: FastifyReply): boolean {
    const connection = this.#quota.take(network(ip), () => raw.socket.destroy());
    if (!connection) return false;
    this.#underWay.set(raw, connection);
    reply.raw.once("close", () => this.#quota.leave(connection));
    return true;
  }

  assign({ raw }: Pick<FastifyRequest, "raw">, owner: string): boolean {
    const connection = this.#underWay.get(raw);
    return !connection || this.#quota.assign(connection, owner);
  }
}

/**
 * A name of a connection, which the TCP socket and the TLS socket on it share. It has the addresses of both ends, because a client can
 * connect one of its ports to several addresses of the server at once. Undefined for a connection by a socket file, which has no addresses.
 */
function nameOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string | undefined {
  return remotePort === undefined ? undefined : `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
