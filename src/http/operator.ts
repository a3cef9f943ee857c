import { createServer, type Server } from "node:http";
import { ClientError } from "../domain/error.ts";
import type { Address } from "../domain/transport.ts";
import type { Dependencies } from "./dependencies.ts";
import { readinessBody } from "./health.ts";
import { removeStaleSocket } from "./stale-socket.ts";

export interface OperatorDependencies extends Pick<Dependencies, "store" | "engine"> {
  /** For Prometheus; neither of the two fails because the database is gone. */
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  /** For a person. */
  readonly status: () => Promise<unknown>;
}

/** A probe sends a few bytes, at once, and few of them at a time. */
const LIMITS = { requestTimeout: 5_000, headersTimeout: 5_000, connectionsCheckingInterval: 1_000 };
const MAX_CONNECTIONS = 100;
/** What a probe that never finishes its request, or does not read its answer, may keep. Longer than any proof takes. */
const STILL_MS = 60_000;
/** Who is asking when the service stops is answered within this, or not at all. */
const LAST_ANSWERS_MS = 1_000;

/**
 * For the machine itself: no key, no TLS, loopback or a Unix socket only. `/live` says that the process answers and its
 * database does; `/ready` says what `/api/health/ready` says, and of a failure of the platform's the whole text;
 * `/metrics` is for Prometheus and `/status` for `assay status`.
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

interface Answer {
  readonly status: number;
  /** A string as it is, anything else as JSON. */
  readonly body: unknown;
  readonly type?: string;
}

async function answer(url: string, { store, engine, metrics, status }: OperatorDependencies): Promise<Answer> {
  try {
    if (url === "/metrics") return { status: 200, body: await metrics.text(), type: metrics.contentType };
    if (url === "/status") return { status: 200, body: await status() };
    if (url === "/live") {
      await store.ping();
      return { status: 200, body: { status: "live" } };
    }
    if (url === "/ready") return { status: 200, body: readinessBody(await engine.readiness(), true) };
    return { status: 404, body: { error: "no such endpoint; there are /live, /ready, /metrics and /status" } };
  } catch (error) {
    if (error instanceof ClientError) return { status: error.status, body: error.body };
    return { status: 503, body: { error: "the database does not answer" } };
  }
}
