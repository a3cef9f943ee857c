import { createServer, type Server } from "node:http";
import { ClientError } from "../domain/error.ts";
import type { Address } from "../domain/transport.ts";
import type { Dependencies } from "./dependencies.ts";
import { readinessBody } from "./health.ts";

/**
 * Liveness and readiness for the machine itself: no key, no TLS, loopback or a Unix socket
 * only. `/live` says that the process answers and its database does; `/ready` says what
 * `/api/health/ready` says, and of a failure of the platform's the whole text.
 */
export class OperatorServer {
  readonly #server: Server;

  constructor(dependencies: Pick<Dependencies, "store" | "engine">) {
    this.#server = createServer({ requestTimeout: 5_000 }, (request, response) => {
      void answer(request.url ?? "/", dependencies).then(({ status, body }) => {
        response.writeHead(status, { "content-type": "application/json" });
        response.end(JSON.stringify(body));
      });
    });
  }

  listen(address: Address): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject).listen(address, resolve);
    });
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
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
