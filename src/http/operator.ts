import { createServer, type Server } from "node:http";
import { ClientError } from "../domain/error.ts";
import type { Address } from "../domain/transport.ts";
import { readinessBody } from "./api/health.ts";
import type { Dependencies } from "./dependencies.ts";
import { removeStaleSocket } from "./listener/stale-socket.ts";

export interface OperatorDependencies extends Pick<Dependencies, "store" | "workers"> {
  /** The metrics for Prometheus. They are also returned while the database is unavailable. */
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  /** The status that `assay status` displays. It is also returned while the database is unavailable. */
  readonly status: () => Promise<unknown>;
}

/** These limits are low, because a probe sends a few bytes at once, and there are few probes at a time. */
const LIMITS = { requestTimeout: 5_000, headersTimeout: 5_000, connectionsCheckingInterval: 1_000 };
const MAX_CONNECTIONS = 100;
/** A connection is closed if nothing is transferred for this time. It is longer than any self-test, for which `/ready` may wait. */
const INACTIVE_MS = 60_000;
/** When the service stops, requests in progress have this time to complete. */
const LAST_ANSWERS_MS = 1_000;

/**
 * The server for local probes. It needs no key and no TLS, because it listens only on loopback or a Unix socket. `/live` reports that the
 * process and its database respond. `/ready` returns the same as `/api/health/ready`, but with the full text of platform faults.
 * `/metrics` is for Prometheus, and `/status` for `assay status`.
 */
export class OperatorServer {
  readonly #server: Server;

  constructor(dependencies: OperatorDependencies) {
    this.#server = createServer(LIMITS, (request, response) => {
      void answer(request.url ?? "/", dependencies).then(({ status, body, type = "application/json" }) => {
        response.writeHead(status, { "content-type": type });
        response.end(typeof body === "string" ? body : JSON.stringify(body));
      });
    });
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.timeout = INACTIVE_MS;
  }

  async listen(address: Address): Promise<void> {
    await removeStaleSocket(address);
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject).listen(address, resolve);
    });
  }

  /** Resolves after LAST_ANSWERS_MS at the latest: then all connections are closed, because Node no longer enforces its time limits. */
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

interface OperatorResponse {
  readonly status: number;
  /** A string is sent as it is, anything else as JSON. */
  readonly body: unknown;
  readonly type?: string;
}

async function answer(
  url: string,
  { store, workers, metrics, status }: OperatorDependencies,
): Promise<OperatorResponse> {
  try {
    if (url === "/metrics") return { status: 200, body: await metrics.text(), type: metrics.contentType };
    if (url === "/status") return { status: 200, body: await status() };
    if (url === "/live") {
      await store.ping();
      return { status: 200, body: { status: "live" } };
    }
    if (url === "/ready") return { status: 200, body: readinessBody(await workers.readiness(), true) };
    return { status: 404, body: { error: "no such endpoint; there are /live, /ready, /metrics and /status" } };
  } catch (error) {
    if (error instanceof ClientError) return { status: error.status, body: error.body };
    return { status: 503, body: { error: "the database does not respond" } };
  }
}
