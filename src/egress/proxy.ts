import { createServer, type Server, type Socket } from "node:net";
import type { Dialed } from "./dial.ts";
import { MAX_HELD_MS } from "./first-flight.ts";
import { HEADER_BYTES, parseHeader } from "./protocol.ts";
import { SandboxEgress, type SandboxRegistration } from "./sandbox-egress.ts";

/*
 * The server on a Unix socket to which the relays of all sandboxes connect (protocol.ts). It knows a sandbox only by its token, and hands each connection to
 * the sandbox whose token its header has.
 */

/** How long a relay may take to send the header. */
const HEADER_MS = 5_000;
const IDLE_MS = 120_000;
/** Connections whose header is not complete. If there are more, the oldest one is closed: a relay that works sends its header at once. */
const MAX_WITHOUT_HEADER = 256;

export interface ProxyOptions {
  /** Connects to a name or an address that the policy allows (dial.ts). */
  readonly dial: (host: string, port: number, signal: AbortSignal) => Promise<Dialed>;
  /** Gets errors of the server while it listens, such as too many open files: a connection was closed, and the server goes on. */
  readonly failed: (error: Error) => void;
  readonly headerMs?: number;
  readonly idleMs?: number;
  readonly heldMs?: number;
}

export class EgressProxy {
  readonly #server: Server;
  readonly #options: Required<ProxyOptions>;
  readonly #sandboxes = new Map<string, SandboxEgress>();
  readonly #withoutHeader = new Set<Socket>();
  readonly #sweep: NodeJS.Timeout;

  private constructor(options: Required<ProxyOptions>) {
    this.#options = options;
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket));
    const { idleMs } = options;
    this.#sweep = setInterval(() => this.#closeIdle(), Math.min(1_000, Math.ceil(idleMs / 4)));
    this.#sweep.unref();
  }

  /**
   * Begins to serve relays.
   * @param path of the socket, in a directory to which only relays and this process have access: everyone who can reach it can connect. @throws if it exists,
   * or cannot be made.
   */
  static async listen(path: string, options: ProxyOptions): Promise<EgressProxy> {
    const proxy = new EgressProxy({ headerMs: HEADER_MS, idleMs: IDLE_MS, heldMs: MAX_HELD_MS, ...options });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    proxy.#server.once("error", reject).listen({ path, readableAll: true, writableAll: true }, resolve);
    try {
      await promise;
    } catch (error) {
      clearInterval(proxy.#sweep);
      throw error;
    }
    proxy.#server.off("error", reject).on("error", options.failed);
    return proxy;
  }

  /** Serves the network of a sandbox from now on. @throws if its token is in use. */
  register(registration: SandboxRegistration): SandboxEgress {
    const { token } = registration;
    if (this.#sandboxes.has(token)) throw new Error("the token of this network is in use");
    const { dial, idleMs, heldMs } = this.#options;
    const sandbox = new SandboxEgress(registration, { dial, idleMs, heldMs }, () => this.#sandboxes.delete(token));
    this.#sandboxes.set(token, sandbox);
    return sandbox;
  }

  /** Ends all connections and the server. @throws as `SandboxEgress.unregister`. */
  async close(): Promise<void> {
    clearInterval(this.#sweep);
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#withoutHeader) socket.destroy();
    await Promise.all([...this.#sandboxes.values()].map((sandbox) => sandbox.unregister()));
    await closed;
  }

  /** The open connections of all sandboxes. */
  get open(): number {
    return [...this.#sandboxes.values()].reduce((sum, sandbox) => sum + sandbox.open, 0);
  }

  #closeIdle(): void {
    const sinceMs = performance.now() - this.#options.idleMs;
    // After a pause of this process, what has arrived in the meantime is read first.
    setImmediate(() => {
      for (const sandbox of this.#sandboxes.values()) sandbox.closeIdle(sinceMs);
    });
  }

  #accept(socket: Socket): void {
    const [oldest] = this.#withoutHeader;
    if (this.#withoutHeader.size >= MAX_WITHOUT_HEADER) oldest?.destroy();
    this.#withoutHeader.add(socket);
    const forget = () => {
      clearTimeout(late);
      this.#withoutHeader.delete(socket);
      socket.off("readable", read).off("error", drop).off("end", drop).off("close", forget);
    };
    const drop = () => {
      forget();
      socket.on("error", () => {});
      socket.destroy();
    };
    const read = () => {
      const bytes: Buffer | null = socket.read(HEADER_BYTES);
      if (bytes === null) return;
      const header = bytes.length === HEADER_BYTES ? parseHeader(bytes) : null;
      const sandbox = header && this.#sandboxes.get(header.token);
      if (!header || !sandbox) {
        drop();
        return;
      }
      forget();
      if (header.kind === "control") sandbox.control(socket);
      else sandbox.stream(socket, header);
    };
    const late = setTimeout(drop, this.#options.headerMs);
    socket.on("readable", read).on("error", drop).on("end", drop).on("close", forget);
  }
}
