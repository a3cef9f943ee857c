import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ConnectionQuota, CountedConnection } from "./connection-quota.ts";
import { network } from "./network.ts";

/** Limits the clients of a listener: their connections, or their requests in progress. */
export interface Clients {
  /** Call before the server listens. */
  watch(server: Server): void;
  /** Registers a request. @returns whether there is a place for it. */
  began(request: FastifyRequest, reply: FastifyReply): boolean;
  /** Assigns the place to the owner of a valid key or session. @returns whether the owner may have it. */
  own(request: FastifyRequest, owner: string): boolean;
}

/** Each TCP connection takes a place. */
export class Connections implements Clients {
  readonly #places: ConnectionQuota;
  /** Keyed by nameOf, because a destroyed socket no longer has a local address. */
  readonly #open = new Map<string, CountedConnection>();

  constructor(places: ConnectionQuota) {
    this.#places = places;
  }

  watch(server: Server): void {
    server.on("connection", (socket: Socket) => {
      const name = nameOf(socket);
      if (name === undefined) return;
      const place = this.#places.take(network(socket.remoteAddress ?? ""), () => socket.destroy());
      if (!place) {
        socket.destroy();
        return;
      }
      this.#open.set(name, place);
      socket.once("close", () => {
        if (this.#open.get(name) === place) this.#open.delete(name);
        this.#places.leave(place);
      });
    });
  }

  began(): boolean {
    return true;
  }

  own({ raw }: Pick<FastifyRequest, "raw">, owner: string): boolean {
    const place = this.#open.get(nameOf(raw.socket) ?? "");
    return !place || this.#places.own(place, owner);
  }
}

/** More connections than places: an idle anonymous connection must not block a request that would free a place. */
const CONNECTIONS_FOR_EACH_PLACE = 2;

/** Behind a proxy each request in progress takes a place, because all connections belong to the proxy. */
export class RequestsUnderWay implements Clients {
  readonly #places: ConnectionQuota;
  readonly #underWay = new WeakMap<FastifyRequest["raw"], CountedConnection>();

  constructor(places: ConnectionQuota) {
    this.#places = places;
  }

  watch(server: Server): void {
    server.maxConnections = CONNECTIONS_FOR_EACH_PLACE * this.#places.most;
  }

  began({ ip, raw }: FastifyRequest, reply: FastifyReply): boolean {
    const place = this.#places.take(network(ip), () => raw.socket.destroy());
    if (!place) return false;
    this.#underWay.set(raw, place);
    reply.raw.once("close", () => this.#places.leave(place));
    return true;
  }

  own({ raw }: Pick<FastifyRequest, "raw">, owner: string): boolean {
    const place = this.#underWay.get(raw);
    return !place || this.#places.own(place, owner);
  }
}

/**
 * The TCP socket and the TLS socket on it have the same name. Undefined for a socket file, which has no addresses. The
 * name includes both ends, because a client can connect one port to several server addresses at once.
 */
function nameOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string | undefined {
  return remotePort === undefined ? undefined : `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
