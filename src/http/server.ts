import type { Socket } from "node:net";
import type { Server as TlsServer } from "node:tls";
import fastify, { type FastifyInstance, type FastifyRequest, LogController } from "fastify";
import { clientError } from "../domain/error.ts";
import { type Meter, NO_METER } from "../domain/meter.ts";
import type { Address, Transport } from "../domain/transport.ts";
import { MinuteBudget } from "../fairness/minute-budget.ts";
import { EventLoopTurns } from "../fairness/turn.ts";
import { authenticate, checkVisit, Failures } from "./access/auth.ts";
import { decorateCaller, ownerOf } from "./access/caller.ts";
import { addRateLimit, countRequests } from "./access/rate-limit.ts";
import { Refusals } from "./access/refusals.ts";
import { SandboxRate } from "./access/sandbox-rate.ts";
import { ProblemImports } from "./api/import-problem.ts";
import { ROUTES } from "./api/routes.ts";
import { checkStorable } from "./api/storable.ts";
import { MAX_BODY_BYTES, readJsonOnly } from "./body/body.ts";
import type { DashboardDependencies } from "./dashboard/dependencies.ts";
import { dashboardRoutes } from "./dashboard/routes.ts";
import { SessionGuard } from "./dashboard/session.ts";
import type { Dependencies } from "./dependencies.ts";
import { ForeignPaths } from "./foreign-routes.ts";
import { type ConnectionLimits, ConnectionQuota } from "./listener/connection-quota.ts";
import { type Clients, Connections, RequestsUnderWay } from "./listener/connections.ts";
import { createListener, type ListenerLimits, MAX_HEADER_BYTES, tls } from "./listener/listener.ts";
import { WebSocketBudget } from "./listener/message-socket.ts";
import { removeStaleSocket } from "./listener/stale-socket.ts";
import { httpsCheck, type TrustsHop, trustedHops } from "./listener/transport.ts";
import { routeUpgrades, takesOwnWebSocket } from "./listener/upgrade.ts";
import { deferQuota, mcpRoute } from "./mcp/route.ts";
import { documentationRoutes } from "./openapi/documentation.ts";
import type { DrainLimits } from "./responses/drain.ts";
import { answerBrokenRequest, sendError, sendErrors } from "./responses/errors.ts";
import { addHeaders } from "./responses/headers.ts";
import { LongAnswers } from "./responses/long-answers.ts";
import { follow, measure } from "./responses/measure.ts";
import { answerUnknownRoutes } from "./responses/not-found.ts";
import { requestId } from "./responses/request-id.ts";
import { addRoutes, checkQuery } from "./route.ts";

const WRITES: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE"]);

/** How often expired rows are removed from the database. */
const FORGET_MS = 60_000;

/**
 * How long the last responses may take when the server closes. The time of a whole stop, in setup/foreground.sh and docs/operations.md,
 * includes this time.
 */
const LAST_ANSWERS_MS = 2_000;

/**
 * The HTTP server of the API, the dashboard and the documents. Every request of the API passes the same steps: HTTPS, number of connections,
 * shutdown, authentication, rate limit, route. There is no exception for `/api/health*`: every endpoint needs a key. The documents need
 * none, and the dashboard uses sessions instead. Errors are JSON from the list of errors (src/domain/error.ts); the routes for clients of
 * other services (foreign-routes.ts) give some of them the form that these clients expect.
 */
export class HttpServer {
  readonly #server: FastifyInstance;
  readonly #waits = new AbortController();
  readonly #forgetting: NodeJS.Timeout;
  readonly #transport: Transport;
  /** All TCP connections. Node's own list lacks those before the end of the TLS handshake, and those that have become WebSockets. */
  readonly #open = new Set<Socket>();
  #onSocketFile = false;
  #closing = false;
  #closed: Promise<unknown> | undefined;

  /** @param limits replace some limits of the listener and on connections, in tests. @param drain replaces DRAIN, in tests. */
  constructor(
    dependencies: DashboardDependencies,
    transport: Transport,
    limits: Partial<ListenerLimits & ConnectionLimits> = {},
    drain?: DrainLimits,
  ) {
    this.#transport = transport;
    const { meter = NO_METER } = dependencies;
    const trusts = trustedHops(transport, () => this.#onSocketFile);
    const quota = new ConnectionQuota(limits, meter);
    const clients = transport.kind === "proxied" ? new RequestsUnderWay(quota) : new Connections(quota);
    this.#server = create(dependencies, meter, transport, trusts, clients, limits);
    this.#server.server.on("connection", (socket: Socket) => {
      this.#open.add(socket);
      socket.once("close", () => this.#open.delete(socket));
    });
    const checkHttps = httpsCheck(transport, trusts);
    const failures = new Failures();
    const visits = new MinuteBudget();
    const sandboxRate = new SandboxRate();
    const refusals = new Refusals();
    const sessions = new SessionGuard(dependencies, transport.kind !== "loopback");
    routeUpgrades(this.#server);
    this.#forgetting = setInterval(() => void forget(dependencies), FORGET_MS);
    decorateCaller(this.#server);
    sessions.decorate(this.#server);
    const eventLoop = new EventLoopTurns();
    const answers = new LongAnswers(eventLoop, meter, drain);
    readJsonOnly(this.#server, eventLoop);
    sendErrors(this.#server, meter);
    const checkRoute = answerUnknownRoutes(this.#server);
    this.#server.addHook("onRequest", async (request, reply) => {
      // A dozen parts of the service and its libraries listen for the end of each response. Node would warn of a leak from the 11th on.
      reply.raw.setMaxListeners(32);
      addHeaders(request, reply, transport.kind !== "loopback");
      checkHttps(request);
      checkHost(request);
      if (!clients.began(request, reply)) throw tooManyConnections();
      if (this.#closing) throw clientError("shuttingDown", [], { headers: { "retry-after": "5" } });
      const { open, session } = request.routeOptions.config ?? {};
      if (open) {
        checkVisit(request, visits);
        return;
      }
      if (session) {
        await sessions.check(request, session);
        if (request.person) assignOwner(clients, request);
        return;
      }
      if (request.is404 && sessions.isBelow(request)) {
        sessions.bound(request);
        checkRoute(request);
      }
      const caller = await authenticate(request, dependencies.store.keys, failures);
      request.caller = caller;
      assignOwner(clients, request);
      const { submits = false } = request.routeOptions.config ?? {};
      const onlyReads = !submits && !WRITES.has(request.method);
      const { ofSandbox = false } = request.routeOptions.config ?? {};
      if (ofSandbox) sandboxRate.count(caller, ofSandbox === "costly" || WRITES.has(request.method));
      else await countRequests(caller, dependencies, { onlyReads }).catch((error) => deferQuota(request, error));
      checkRoute(request);
      checkQuery(request);
    });
    // Only for the API of the dashboard: other routes check each text that reaches the database by rules of its own.
    this.#server.addHook("preHandler", async (request) => {
      const { session } = request.routeOptions.config ?? {};
      // The names of pages do not reach the database.
      if (session !== undefined && session !== "page") checkStorable(request);
    });
    // While the server closes, a client that keeps its connection open would delay the shutdown.
    this.#server.addHook("onSend", async (request, reply) => {
      addRateLimit(request, reply);
      if (this.#closing || hasLongRest(request)) reply.header("connection", "close");
    });
    this.#server.addHook("onResponse", async (request, reply) => {
      measure(meter, request, reply);
      follow(dependencies.tracer, request, reply);
      const { method, url } = request.routeOptions;
      const { caller, person, submissionId: submission } = request;
      const ms = Math.round(reply.elapsedTime);
      const refusal = refusals.logFields(request, reply);
      if (refusal === null) return;
      request.log.info(
        {
          method,
          route: url,
          status: reply.statusCode,
          ms,
          ...(person ? { person: person.id } : { key: caller?.keyId }),
          ...(submission && { submission }),
          ...refusal,
        },
        "request",
      );
    });
    const imports = new ProblemImports(dependencies, answers, this.#waits.signal);
    const sockets = new WebSocketBudget();
    const services = { dependencies, answers, imports, sockets, stopping: this.#waits.signal };
    addRoutes(this.#server, ROUTES, services);
    mcpRoute(this.#server, dependencies, answers, this.#waits.signal);
    for (const { add } of dependencies.foreignRoutes) add(this.#server, services);
    documentationRoutes(this.#server);
    dashboardRoutes(this.#server, sessions, services);
  }

  /** Begins to listen. @returns the port; 0 for a socket file. @throws if the server cannot listen on the address. */
  async listen(address: Address): Promise<number> {
    this.#onSocketFile = "path" in address;
    await removeStaleSocket(address);
    // Without the resolver, Fastify would log the address with http:// for every transport.
    await this.#server.listen({ ...address, listenTextResolver: () => "address bound" });
    const bound = this.#server.server.address();
    return typeof bound === "object" && bound ? bound.port : 0;
  }

  /**
   * Reloads the certificate and its key for new connections. If they are invalid, the current ones stay in use, and the error is logged.
   * Without TLS, this has no effect.
   */
  reloadCertificate(): void {
    if (this.#transport.kind !== "https") return;
    const { log } = this.#server;
    try {
      (this.#server.server as unknown as TlsServer).setSecureContext(tls(this.#transport));
      log.info("certificate reloaded");
    } catch (error) {
      log.error({ err: error }, "the certificate is invalid; the current one stays in use");
    }
  }

  /** Stops accepting connections and requests. Requests that wait for a result continue to wait. */
  beginClosing(): void {
    this.#closing = true;
    clearInterval(this.#forgetting);
    this.#closed ??= this.#server.close();
  }

  /** Ends the waits for results, whose requests then get an error with the current status. Resolves when all connections are closed. */
  async close(): Promise<void> {
    this.beginClosing();
    this.#waits.abort();
    // While it closes, Node does not enforce its time limits, and would wait indefinitely for a client that is still sending.
    const timer = setTimeout(() => {
      for (const socket of this.#open) socket.destroy();
    }, LAST_ANSWERS_MS);
    await this.#closed;
    clearTimeout(timer);
  }
}

/** @throws ClientError tooManyConnections. */
function assignOwner(clients: Clients, request: FastifyRequest): void {
  if (!clients.assign(request, ownerOf(request))) throw tooManyConnections();
}

/** The error for a client that may not have another connection. It also closes the connection. */
function tooManyConnections(): Error {
  return clientError("tooManyConnections", [], { headers: { "retry-after": "1", connection: "close" } });
}

/** Reading and discarding a body of at most this size costs less than another TLS handshake. */
const SHORT_BODY_BYTES = 65_536;

/**
 * Whether the response is sent before the end of a body that can be long, because the request is refused or is a GET. The connection then
 * has to be closed: if it stayed open, Node would read and discard the whole body. On a closing connection, linger() bounds what is read.
 */
function hasLongRest({ raw: { complete, headers } }: FastifyRequest): boolean {
  if (complete) return false;
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > SHORT_BODY_BYTES;
}

/** HTTP/1.1 requires exactly one header Host. If there were two, a proxy and this server could each use another one. */
function checkHost({ raw }: FastifyRequest): void {
  const hosts = raw.headersDistinct.host?.length ?? 0;
  if (hosts > 1 || (hosts === 0 && raw.httpVersion !== "1.0")) throw clientError("badRequest", []);
}

/** Removes expired rows from the database. After an error, the next call removes them. */
async function forget({ store, log }: Dependencies): Promise<void> {
  try {
    await store.quota.forget();
    await store.sessions.forget();
    await store.signIns.forget();
    await store.sends.forget();
    await store.invitations.forget();
  } catch (error) {
    log.error({ err: error }, "expired rows could not be removed");
  }
}

function create(
  { log, holdMs, foreignRoutes }: Dependencies,
  meter: Meter,
  transport: Transport,
  trusts: TrustsHop,
  clients: Clients,
  limits?: Partial<ListenerLimits>,
): FastifyInstance {
  const foreignPaths = new ForeignPaths(foreignRoutes);
  const takesWebSocket = (url: string) => takesOwnWebSocket(url) || foreignPaths.takesWebSocket(url);
  const server = fastify({
    serverFactory: (handler) => createListener(transport, handler, holdMs, meter, clients, takesWebSocket, limits),
    loggerInstance: log,
    // The hook `onResponse` logs one line for each response. Fastify would log two for each request.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestId,
    rewriteUrl: ({ url = "" }) => foreignPaths.withoutLastSlash(url),
    requestIdHeader: false,
    trustProxy: transport.kind === "proxied" ? trusts : false,
    // While the server closes, the hook `onRequest` rejects requests, with an error like any other.
    return503OnClosing: false,
    bodyLimit: MAX_BODY_BYTES,
    // Fastify would respond to a longer parameter before authentication, so the limit is that of all headers.
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
    forceCloseConnections: "idle",
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, meter),
    frameworkErrors: (error, request, reply) => void sendError(error, request, reply, meter),
  }) as unknown as FastifyInstance;
  server.decorate("foreignPaths", foreignPaths);
  return server;
}
