import { randomUUID } from "node:crypto";
import fastify, { type FastifyInstance, LogController } from "fastify";
import { clientError } from "../domain/error.ts";
import type { Address, Transport } from "../domain/transport.ts";
import { authenticate } from "./auth.ts";
import { readJsonOnly } from "./body.ts";
import { decorateCaller } from "./caller.ts";
import type { Dependencies } from "./dependencies.ts";
import { answerBrokenRequest, sendError, sendErrors } from "./errors.ts";
import { healthRoutes } from "./health.ts";
import { languagesRoute } from "./languages.ts";
import { createListener } from "./listener.ts";
import { answerUnknownRoutes } from "./not-found.ts";
import { resultRoute } from "./result.ts";
import { submitRoute } from "./submit.ts";
import { httpsCheck } from "./transport.ts";
import { MinuteWindow } from "./window.ts";

/**
 * The HTTP server of the API. Every request goes the same way: is it HTTPS, are we open,
 * whose key is it, is there quota left; then the endpoint; and an error leaves anywhere as
 * JSON of the one list. `/api/health*` takes part in all of it: the contract knows no
 * endpoint without a key.
 */
export class HttpServer {
  readonly #server: FastifyInstance;
  readonly #waits = new AbortController();
  #closing = false;
  #closed: Promise<unknown> | undefined;

  constructor(dependencies: Dependencies, transport: Transport) {
    this.#server = create(dependencies, transport);
    const checkHttps = httpsCheck(transport);
    const failures = new MinuteWindow();
    const quota = new MinuteWindow();
    decorateCaller(this.#server);
    readJsonOnly(this.#server);
    sendErrors(this.#server);
    const checkRoute = answerUnknownRoutes(this.#server);
    this.#server.addHook("onRequest", async (request, reply) => {
      reply.headers({ "x-request-id": request.id, "cache-control": "no-store", "x-content-type-options": "nosniff" });
      checkHttps(request);
      if (this.#closing)
        throw clientError("shuttingDown", [], { headers: { "retry-after": "5", connection: "close" } });
      const caller = await authenticate(request, dependencies.store.keys, failures);
      request.caller = caller;
      const retryAfter = quota.take(caller.keyId, caller.requestsPerMinute);
      if (retryAfter > 0) throw clientError("quotaExceeded", [], { headers: { "retry-after": String(retryAfter) } });
      checkRoute(request);
    });
    this.#server.addHook("onResponse", async (request, reply) => {
      const { method, url } = request.routeOptions;
      request.log.info(
        { method, route: url, status: reply.statusCode, ms: Math.round(reply.elapsedTime), key: request.caller?.keyId },
        "request",
      );
    });
    submitRoute(this.#server, dependencies, this.#waits.signal);
    resultRoute(this.#server, dependencies);
    languagesRoute(this.#server, dependencies);
    healthRoutes(this.#server, dependencies);
  }

  /** @returns the port that it listens on. @throws when the address cannot be taken. */
  async listen(address: Address): Promise<number> {
    // Fastify would name the address as http:// whatever the transport is.
    await this.#server.listen({ ...address, listenTextResolver: () => "address taken" });
    const bound = this.#server.server.address();
    return typeof bound === "object" && bound ? bound.port : 0;
  }

  /** Takes no new connection and no new request; those that wait for a result go on. */
  beginClosing(): void {
    this.#closing = true;
    this.#closed ??= this.#server.close();
  }

  /** Answers everyone who still waits with what is known, and resolves when all have left. */
  async close(): Promise<void> {
    this.beginClosing();
    this.#waits.abort();
    await this.#closed;
  }
}

function create({ log }: Dependencies, transport: Transport): FastifyInstance {
  return fastify({
    serverFactory: (handler) => createListener(transport, handler),
    loggerInstance: log,
    // One line per answer, written below, instead of two per request.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    trustProxy: transport.kind === "proxied" ? [...transport.proxies] : false,
    // Ours says so in JSON and after authentication is no longer possible.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (error, request, reply) => void sendError(error, request, reply),
  }) as unknown as FastifyInstance;
}
