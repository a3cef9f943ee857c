import type { ClientHttp2Session, Http2Session } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Server, TLSSocket } from "node:tls";
import type { Logger } from "pino";
import type { HostPort } from "../domain/transport.ts";
import type { AnnouncedLink, SeenLink } from "../store/links.ts";
import type { Store } from "../store/store.ts";
import type { LinkIdentity } from "./certificate.ts";
import { newIdentity } from "./certificate.ts";
import { LinkClient } from "./client.ts";
import type { LinkedHost } from "./methods.ts";
import { Peers } from "./peers.ts";
import { serveLink } from "./server.ts";
import { answeringSession, askingSession } from "./sessions.ts";
import { type Direction, dial, directionOf, linkServer, provenFingerprint } from "./tls.ts";

/** The shortest and the longest pause before a process is dialled again. */
const [LEAST_PAUSE_MS, MOST_PAUSE_MS] = [250, 5_000];
/** The pause after a process has violated the protocol. */
const VIOLATION_PAUSE_MS = 60_000;
/** Connections of processes that have not proven their key yet, and all connections. */
const [MOST_UNPROVEN, MOST_CONNECTIONS] = [64, 2_048];
/** A connection that lasted this long is dialled again without a pause. */
const LASTED_MS = 10_000;

export interface LinkOptions {
  readonly store: Pick<Store, "links">;
  /** The name of this process in the database; that of its worker, if it has one. */
  readonly id: string;
  /** Whether this process asks others for sandboxes. */
  readonly isService: boolean;
  readonly capacity: AnnouncedLink["capacity"];
  /** The machine whose snapshots its sandboxes can begin with; null if it has none. */
  readonly snapshotStore: string | null;
  /** The sandboxes of this process, which others may ask for; null if it has none. */
  readonly host: LinkedHost | null;
  readonly listen: HostPort | null;
  /** Where others dial; by default, the address of `listen`. */
  readonly address: HostPort | null;
  readonly leaseMs: number;
  readonly log: Logger;
}

/** A link that is being kept. */
interface Dialled {
  readonly link: SeenLink;
  readonly over: AbortController;
  readonly ended: Promise<void>;
}

/** A connection with a process that has proven its key. */
interface Connected {
  readonly peer: SeenLink;
  readonly session: Http2Session;
}

/**
 * The links of a process to all others. A service asks processes that have sandboxes. It dials those that have an address; the others dial
 * the service, and are asked over that connection. Both sides prove their keys, and only keys of processes that live are accepted.
 */
export class Link {
  readonly id: string;
  readonly #options: LinkOptions;
  readonly #identity: LinkIdentity;
  readonly #server: Server | null;
  readonly #stopping = new AbortController();
  /** What can be asked, by the id of the process. */
  readonly #clients = new Map<string, { readonly client: LinkClient } & Connected>();
  /** Services that can ask this process. */
  readonly #services = new Set<Connected>();
  readonly #dialled = new Map<string, Dialled>();
  readonly #listeners = new Set<() => void>();
  readonly #violatedAtMs = new Map<string, number>();
  /** Connections that have not proven their key yet. */
  readonly #unproven = new Set<Socket>();
  readonly #warned = new Set<string>();
  #peers: Peers | null = null;
  #port = 0;

  private constructor(options: LinkOptions) {
    this.id = options.id;
    this.#options = options;
    this.#identity = newIdentity();
    this.#server = options.listen ? linkServer(this.#identity) : null;
  }

  /** Listens, announces this process, and begins to connect with others. @throws if it cannot listen, or the database cannot be used. */
  static async start(options: LinkOptions): Promise<Link> {
    const link = new Link(options);
    try {
      await link.#listen();
      const { store, id, isService, capacity, snapshotStore, leaseMs, log } = options;
      const { fingerprint } = link.#identity;
      const own = { id, fingerprint, address: link.#ownAddress(), isService, capacity, snapshotStore };
      const onRead = () => link.#reconcile();
      link.#peers = await Peers.start({ store, own, leaseMs, log, onRead });
      link.#reconcile();
      return link;
    } catch (error) {
      await link.stop();
      throw error;
    }
  }

  /** The port on which it listens; 0 if it does not. */
  get port(): number {
    return this.#port;
  }

  get fingerprint(): string {
    return this.#identity.fingerprint;
  }

  /** The link to a process that has sandboxes; null while there is none. */
  client(id: string): LinkClient | null {
    const known = this.#clients.get(id);
    return known?.client.isOpen ? known.client : null;
  }

  /** The processes that have sandboxes and can be asked now. */
  get hosts(): readonly SeenLink[] {
    return [...this.#clients.values()].flatMap(({ client, peer }) => (client.isOpen ? [peer] : []));
  }

  /** The ids of the services that can ask this process now. */
  get services(): readonly string[] {
    return [...new Set([...this.#services].map(({ peer }) => peer.id))];
  }

  /** Calls the listener when `hosts` or `services` has changed. @returns a function that ends the subscription. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Withdraws the announcement, and closes all links: calls that are under way fail. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const closed = this.#server && new Promise<void>((resolve) => this.#server?.close(() => resolve()));
    for (const socket of this.#unproven) socket.destroy();
    for (const { over } of this.#dialled.values()) over.abort();
    for (const { session } of [...this.#clients.values(), ...this.#services]) session.destroy();
    await Promise.all([...this.#dialled.values()].map(({ ended }) => ended));
    await this.#peers?.stop();
    await closed;
  }

  #ownAddress(): string | null {
    const { listen, address } = this.#options;
    if (address) return textOf(address);
    return listen && textOf({ host: listen.host, port: this.#port });
  }

  async #listen(): Promise<void> {
    const { listen, log } = this.#options;
    const server = this.#server;
    if (!server || !listen) return;
    server.maxConnections = MOST_CONNECTIONS;
    server.on("connection", (socket: Socket) => {
      if (this.#unproven.size >= MOST_UNPROVEN) {
        socket.destroy();
        return;
      }
      this.#unproven.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => this.#unproven.delete(socket));
    });
    server.on("tlsClientError", (error, socket) => {
      log.debug({ err: error }, "a connection to the links of this process failed");
      socket.destroy(); // Node leaves one open whose handshake was not over in time
    });
    server.on("secureConnection", (socket) => {
      socket.on("error", () => {});
      void this.#accept(socket).catch((error: unknown) => {
        log.warn({ err: error, from: socket.remoteAddress }, "a link was refused");
        socket.destroy();
      });
    });
    const listening = Promise.withResolvers<void>();
    server.once("error", listening.reject);
    server.listen({ host: listen.host, port: listen.port }, () => listening.resolve());
    await listening.promise;
    server.off("error", listening.reject);
    server.on("error", (error) => log.error({ err: error }, "the listener of links failed"));
    this.#port = (server.address() as AddressInfo).port;
  }

  /** Accepts a connection of a process that lives and may do what it wants. @throws if it does not. */
  async #accept(socket: TLSSocket): Promise<void> {
    const direction = directionOf(socket);
    const fingerprint = provenFingerprint(socket);
    if (!direction || !fingerprint) throw new Error("the other side has no certificate");
    const peer = await this.#peers?.withFingerprint(fingerprint);
    if (!peer || this.#stopping.signal.aborted) throw new Error("no living process has this certificate");
    if (socket.destroyed) return;
    this.#proven(socket);
    if (direction === "use") {
      if (!peer.isService) throw new Error("only services may ask");
      this.#answer(socket, peer);
    } else {
      if (!peer.capacity) throw new Error("the process has no sandboxes");
      this.#ask(socket, peer);
    }
  }

  /** The underlying connection does not count as unproven any more. */
  #proven(socket: TLSSocket): void {
    for (const one of this.#unproven)
      if (one.remotePort === socket.remotePort && one.remoteAddress === socket.remoteAddress)
        this.#unproven.delete(one);
  }

  /** Lets a service ask this process. */
  #answer(socket: TLSSocket, peer: SeenLink): Http2Session {
    const { host, log } = this.#options;
    if (!host) throw new Error("this process has no sandboxes");
    const session = answeringSession(socket);
    const connected = { peer, session };
    this.#services.add(connected);
    session.once("close", () => {
      this.#services.delete(connected);
      this.#changed();
    });
    serveLink(session, host, log.child({ peer: peer.id }));
    this.#changed();
    return session;
  }

  /** Asks a process from now on. An earlier link to it is closed. */
  #ask(socket: TLSSocket, peer: SeenLink): ClientHttp2Session {
    if (!this.#options.isService) throw new Error("this process asks nobody");
    const session = askingSession(socket);
    const client = new LinkClient(session, (error) => {
      this.#violatedAtMs.set(peer.id, performance.now());
      this.#options.log.error({ err: error, peer: peer.id }, "a process with sandboxes violated the protocol of links");
    });
    const connected = { peer, session, client };
    const before = this.#clients.get(peer.id);
    this.#clients.set(peer.id, connected);
    before?.session.destroy();
    session.once("close", () => {
      if (this.#clients.get(peer.id) === connected) this.#clients.delete(peer.id);
      this.#changed();
    });
    this.#changed();
    return session;
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Dials who should be dialled, and closes the links of processes that do not live any more. */
  #reconcile(): void {
    if (!this.#peers || this.#stopping.signal.aborted) return;
    const { live } = this.#peers;
    for (const { peer, session } of [...this.#clients.values(), ...this.#services])
      if (live.get(peer.id)?.fingerprint !== peer.fingerprint) session.destroy();
    for (const [key, { link, over }] of this.#dialled) {
      if (live.get(link.id)?.fingerprint === link.fingerprint && live.get(link.id)?.address === link.address) continue;
      over.abort();
      this.#dialled.delete(key);
    }
    for (const link of live.values()) {
      if (this.#options.isService && link.capacity) this.#keep(link, "use");
      if (this.#options.host && link.isService && this.#ownAddress() === null) this.#keep(link, "offer");
    }
  }

  #keep(link: SeenLink, direction: Direction): void {
    const key = `${direction} ${link.id}`;
    if (this.#dialled.has(key)) return;
    const address = link.address === null ? null : parseAddress(link.address);
    if (!address) {
      const nobodyCan = direction === "offer" || this.#ownAddress() === null;
      if (nobodyCan && !this.#warned.has(key)) {
        this.#warned.add(key);
        this.#options.log.warn(
          { peer: link.id },
          "neither this process nor the other one has an address for links (ASSAY_LINK_LISTEN)",
        );
      }
      return;
    }
    const over = new AbortController();
    this.#dialled.set(key, { link, over, ended: this.#keepDialled(link, address, direction, over.signal) });
  }

  async #keepDialled(link: SeenLink, address: HostPort, direction: Direction, over: AbortSignal): Promise<void> {
    const { log } = this.#options;
    let isFailing = false;
    for (let pauseMs = LEAST_PAUSE_MS; !over.aborted; pauseMs = Math.min(2 * pauseMs, MOST_PAUSE_MS)) {
      const begunAt = performance.now();
      try {
        const socket = await dial(address, link.fingerprint, direction, this.#identity, over);
        const session = direction === "use" ? this.#ask(socket, link) : this.#answer(socket, link);
        log.info({ peer: link.id, address: link.address }, "linked");
        isFailing = false;
        await closeOf(session, over);
        if (!over.aborted) log.warn({ peer: link.id }, "a link was lost");
      } catch (error) {
        if (!over.aborted && !isFailing)
          log.warn({ err: error, peer: link.id, address: link.address }, "a process cannot be reached");
        isFailing = true;
      }
      if (performance.now() - begunAt > LASTED_MS) pauseMs = LEAST_PAUSE_MS;
      const violatedMs = performance.now() - (this.#violatedAtMs.get(link.id) ?? Number.NEGATIVE_INFINITY);
      await sleep(Math.max(pauseMs, VIOLATION_PAUSE_MS - violatedMs), undefined, { signal: over }).catch(() => {});
    }
  }
}

async function closeOf(session: Http2Session, over: AbortSignal): Promise<void> {
  const closed = Promise.withResolvers<void>();
  session.once("close", () => closed.resolve());
  const end = () => session.destroy();
  over.addEventListener("abort", end, { once: true });
  if (over.aborted) end();
  await closed.promise;
  over.removeEventListener("abort", end);
}

function textOf({ host, port }: HostPort): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** An address of the database; null if it has no such form. */
function parseAddress(text: string): HostPort | null {
  const {
    six,
    host = six,
    port,
  } = /^(?:\[(?<six>[0-9a-fA-F:.]+)\]|(?<host>[^:[\]]+)):(?<port>\d{1,5})$/.exec(text)?.groups ?? {};
  return host === undefined || Number(port) > 65_535 ? null : { host, port: Number(port) };
}
