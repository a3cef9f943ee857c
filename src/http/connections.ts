import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { network } from "./network.ts";
import type { Place, Places } from "./places.ts";

/** What bounds the clients of a listener: their connections, or their requests under way. */
export interface Clients {
  /** Before the server listens. */
  watch(server: Server): void;
  /** A request has begun. @returns whether there is a place for it. */
  began(request: FastifyRequest, reply: FastifyReply): boolean;
  /** A valid key or session was shown. @returns whether its owner may have the place. */
  own(request: FastifyRequest, owner: string): boolean;
}

/** Each connection by TCP takes a place. */
export class Connections implements Clients {
  readonly #places: Places;
  /** By the names of nameOf: a socket that was destroyed has no local address any more. */
  readonly #open = new Map<string, Place>();

  constructor(places: Places) {
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

/** More connections than places: one of a stranger must not keep out a request that would make room. */
const CONNECTIONS_FOR_EACH_PLACE = 2;

/** Behind a proxy each request under way takes a place, because all connections are the proxy's. */
export class RequestsUnderWay implements Clients {
  readonly #places: Places;
  readonly #underWay = new WeakMap<FastifyRequest["raw"], Place>();

  constructor(places: Places) {
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
 * The same for the TCP socket and the TLS socket on it; undefined for a socket file, which has no addresses. Both ends are in it:
 * a client can connect one port to several addresses of the server at once.
 */
function nameOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string | undefined {
  return remotePort === undefined ? undefined : `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
