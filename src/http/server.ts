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
import { healthRoutes } from "./api/health.ts";
import { ProblemImports } from "./api/import-problem.ts";
import { judgeRoute } from "./api/judge.ts";
import { judgementRoutes } from "./api/judgements.ts";
import { languagesRoutes } from "./api/languages.ts";
import { problemRoutes } from "./api/problems.ts";
import { checkQuery } from "./api/query.ts";
import { resultRoutes } from "./api/result.ts";
import { checkStorable } from "./api/storable.ts";
import { submissionsRoutes } from "./api/submissions.ts";
import { submitRoute } from "./api/submit.ts";
import { usageRoute } from "./api/usage.ts";
import { MAX_BODY_BYTES, readJsonOnly } from "./body/body.ts";
import { withoutLastSlash } from "./compatibility.ts";
import type { DashboardDependencies } from "./dashboard/dependencies.ts";
import { dashboardRoutes } from "./dashboard/routes.ts";
import { SessionGuard } from "./dashboard/session.ts";
import type { Dependencies } from "./dependencies.ts";
import { judge0Routes } from "./judge0/routes.ts";
import { type ConnectionLimits, ConnectionQuota } from "./listener/connection-quota.ts";
import { type Clients, Connections, RequestsUnderWay } from "./listener/connections.ts";
import { createListener, type ListenerLimits, MAX_HEADER_BYTES, tls } from "./listener/listener.ts";
import { removeStaleSocket } from "./listener/stale-socket.ts";
import { httpsCheck, type TrustsHop, trustedHops } from "./listener/transport.ts";
import { routeUpgrades } from "./listener/upgrade.ts";
import { deferQuota, mcpRoute } from "./mcp/route.ts";
import { documentationRoutes } from "./openapi/documentation.ts";
import { pistonRoutes } from "./piston/routes.ts";
import type { DrainLimits } from "./responses/drain.ts";
import { answerBrokenRequest, sendError, sendErrors } from "./responses/errors.ts";
import { addHeaders } from "./responses/headers.ts";
import { LongAnswers } from "./responses/long-answers.ts";
import { follow, measure } from "./responses/measure.ts";
import { answerUnknownRoutes } from "./responses/not-found.ts";
import { requestId } from "./responses/request-id.ts";

/** How often expired rows are removed from the database. */
const FORGET_MS = 60_000;

/** When the server closes, final responses have this long to be sent. setup/foreground.sh and docs/operations.md have the time of a whole stop. */
const LAST_ANSWERS_MS = 2_000;

/**
 * The HTTP server of the API. Every request passes the same steps: HTTPS, shutdown, authentication, quota, route. Every
 * error is JSON from the list of errors. `/api/health*` has no exception, because the contract has no endpoint
 * without a key. Only the pages that document the API are open.
 */
export class HttpServer {
  readonly #server: FastifyInstance;
  readonly #waits = new AbortController();
  readonly #forgetting: NodeJS.Timeout;
  readonly #transport: Transport;
  /** All TCP connections. Node's list lacks those before the end of the TLS handshake and those that became WebSockets. */
  readonly #open = new Set<Socket>();
  #onSocketFile = false;
  #closing = false;
  #closed: Promise<unknown> | undefined;

  /** @param limits overrides for the listener. @param drain overrides for long responses. */
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
      // A dozen parts of the service and of its libraries wait for the end of each response. Node would warn of a leak from the 11th on.
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
      const onlyReads = !submits && !["POST", "DELETE"].includes(request.method);
      await countRequests(caller, dependencies, { onlyReads }).catch((error) => deferQuota(request, error));
      checkRoute(request);
      checkQuery(request);
    });
    // The API passes only ids and idempotency keys to the database as text, and the contract defines their checks.
    this.#server.addHook("preHandler", async (request) => {
      const { session } = request.routeOptions.config ?? {};
      // Pages are files; their names do not reach the database.
      if (session !== undefined && session !== "page") checkStorable(request);
    });
    // Otherwise a client that keeps its connection open would delay the shutdown.
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
    submitRoute(this.#server, dependencies, answers, this.#waits.signal);
    resultRoutes(this.#server, dependencies, answers, this.#waits.signal);
    usageRoute(this.#server, dependencies);
    submissionsRoutes(this.#server, dependencies);
    judgementRoutes(this.#server, dependencies, answers, this.#waits.signal);
    const imports = new ProblemImports(dependencies, answers, this.#waits.signal);
    problemRoutes(this.#server, dependencies, imports);
    judgeRoute(this.#server, dependencies, answers, this.#waits.signal);
    mcpRoute(this.#server, dependencies, answers, this.#waits.signal);
    judge0Routes(this.#server, dependencies, answers, this.#waits.signal);
    languagesRoutes(this.#server, dependencies);
    pistonRoutes(this.#server, dependencies, answers, this.#waits.signal);
    healthRoutes(this.#server, dependencies);
    documentationRoutes(this.#server);
    dashboardRoutes(this.#server, dependencies, sessions, { answers, imports, ended: this.#waits.signal });
  }

  /** @returns the port. @throws when the address cannot be bound. */
  async listen(address: Address): Promise<number> {
    this.#onSocketFile = "path" in address;
    // Fastify would log the address as http:// for every transport.
    await removeStaleSocket(address);
    await this.#server.listen({ ...address, listenTextResolver: () => "address bound" });
    const bound = this.#server.server.address();
    return typeof bound === "object" && bound ? bound.port : 0;
  }

  /**
   * Reloads the certificate and its key for new connections. If they are invalid, the current ones stay, and the error
   * is logged. No effect without TLS.
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

  /** Accepts no new connections and requests; those waiting for a result continue. */
  beginClosing(): void {
    this.#closing = true;
    clearInterval(this.#forgetting);
    this.#closed ??= this.#server.close();
  }

  /** Sends the current state to waiting clients, and resolves when all connections are closed. */
  async close(): Promise<void> {
    this.beginClosing();
    this.#waits.abort();
    // Node no longer enforces its timeouts while it closes, and would wait indefinitely for a client that is still sending.
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

/** This error also closes the connection. */
function tooManyConnections(): Error {
  return clientError("tooManyConnections", [], { headers: { "retry-after": "1", connection: "close" } });
}

/** A body up to this size that nobody reads costs less than another handshake. */
const SHORT_BODY_BYTES = 65_536;

/**
 * Whether the response comes before the end of a body that can be long: of a refused request, or of a GET. On a connection that stays
 * open, Node would read and discard all of it. On one that is closed, linger() bounds it.
 */
function hasLongRest({ raw: { complete, headers } }: FastifyRequest): boolean {
  if (complete) return false;
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > SHORT_BODY_BYTES;
}

/** HTTP/1.1 requires one Host. A proxy and this server could interpret two of them differently. */
function checkHost({ raw }: FastifyRequest): void {
  const hosts = raw.headersDistinct.host?.length ?? 0;
  if (hosts > 1 || (hosts === 0 && raw.httpVersion !== "1.0")) throw clientError("badRequest", []);
}

/** After an error, the next run removes the rows. */
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
  { log, holdMs }: Dependencies,
  meter: Meter,
  transport: Transport,
  trusts: TrustsHop,
  clients: Clients,
  limits?: Partial<ListenerLimits>,
): FastifyInstance {
  return fastify({
    serverFactory: (handler) => createListener(transport, handler, holdMs, meter, clients, limits),
    loggerInstance: log,
    // One line per response, written above, instead of two per request.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestId,
    rewriteUrl: ({ url = "" }) => withoutLastSlash(url),
    requestIdHeader: false,
    trustProxy: transport.kind === "proxied" ? trusts : false,
    // The server rejects requests itself, in JSON, without authentication.
    return503OnClosing: false,
    bodyLimit: MAX_BODY_BYTES,
    // A longer parameter would get a response before authentication.
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
    forceCloseConnections: "idle",
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, meter),
    frameworkErrors: (error, request, reply) => void sendError(error, request, reply, meter),
  }) as unknown as FastifyInstance;
}
