import { createServer, type Server } from "node:http";
import { ClientError } from "../domain/error.ts";
import type { Address } from "../domain/transport.ts";
import type { Dependencies } from "./dependencies.ts";
import { readinessBody } from "./health.ts";
import { removeStaleSocket } from "./stale-socket.ts";

/** A probe sends a few bytes, at once, and few of them at a time. */
const LIMITS = { requestTimeout: 5_000, headersTimeout: 5_000, connectionsCheckingInterval: 1_000 };
const MAX_CONNECTIONS = 100;
/** What a probe that never finishes its request, or does not read its answer, may keep. Longer than any proof takes. */
const STILL_MS = 60_000;
/** Who is asking when the service stops is answered within this, or not at all. */
const LAST_ANSWERS_MS = 1_000;

/**
 * Liveness and readiness for the machine itself: no key, no TLS, loopback or a Unix socket
 * only. `/live` says that the process answers and its database does; `/ready` says what
 * `/api/health/ready` says, and of a failure of the platform's the whole text.
 */
export class OperatorServer {
  readonly #server: Server;

  constructor(dependencies: Pick<Dependencies, "store" | "engine">) {
    this.#server = createServer(LIMITS, (request, response) => {
      void answer(request.url ?? "/", dependencies).then(({ status, body }) => {
        response.writeHead(status, { "content-type": "application/json" });
        response.end(JSON.stringify(body));
      });
    });
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.timeout = STILL_MS;
  }

  async listen(address: Address): Promise<void> {
    await removeStaleSocket(address);
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject).listen(address, resolve);
    });
  }

  /** Resolves within a second: Node no longer looks at its limits once it closes, so nobody may be waited for. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#server.closeAllConnections(), LAST_ANSWERS_MS);
      this.#server.close(() => {
        clearTimeout(timer);
        resolve();
      });
      this.#server.closeIdleConnections();
    });
  }
}

async function answer(
  url: string,
  { store, engine }: Pick<Dependencies, "store" | "engine">,
): Promise<{ status: number; body: unknown }> {
  try {
    if (url === "/live") {
      await store.ping();
      return { status: 200, body: { status: "live" } };
    }
    if (url === "/ready") return { status: 200, body: readinessBody(await engine.readiness(), true) };
    return { status: 404, body: { error: "no such endpoint; there are /live and /ready" } };
  } catch (error) {
    if (error instanceof ClientError) return { status: error.status, body: error.body };
    return { status: 503, body: { error: "the database does not answer" } };
  }
}
