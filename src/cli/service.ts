import pino, { type Logger } from "pino";
import { type Config, ConfigError } from "../config.ts";
import type { Meter } from "../domain/meter.ts";
import { NO_TRACER, type Tracer } from "../domain/tracer.ts";
import { StatsAggregator } from "../history/stats-aggregator.ts";
import type { DashboardDependencies } from "../http/dashboard/dependencies.ts";
import { checkFree } from "../http/free-address.ts";
import { OperatorServer } from "../http/operator.ts";
import { HttpServer } from "../http/server.ts";
import { Prometheus } from "../metrics/prometheus.ts";
import { Purger } from "../retention/purger.ts";
import { openStore } from "../store/open.ts";
import type { Store } from "../store/port.ts";
import { Otlp } from "../tracing/otlp.ts";
import { Deliverer } from "../webhooks/deliverer.ts";
import type { SendOptions } from "../webhooks/send.ts";
import { Worker } from "../worker/worker.ts";
import { WorkerHeartbeat } from "../worker/worker-heartbeat.ts";
import { WorkerRegistry } from "../worker/worker-registry.ts";
import { dashboardOf, nodesOf } from "./dashboard.ts";
import { ourLanguages } from "./engine.ts";
import { providerOf } from "./oidc-settings.ts";
import { operatorPages } from "./operator-pages.ts";
import { version } from "./version.ts";
import { ownWebhookSettings, provenSealerOf, sendOptions } from "./webhook-settings.ts";

/** The contract's longest hold of `wait=true`. */
const HOLD_MS = 30_000;

const SECRET_HEADERS = ["x-api-key", "authorization", "proxy-authorization", "cookie"];

export interface Service {
  /** Where clients connect; 0 for a socket file. */
  readonly port: number;
  /** Reads the certificate again. */
  reload(): void;
  /** Resolves once the languages are proven and work is taken. */
  ready(): Promise<void>;
  /** Drains and stops; resolves when everything is durable and closed. */
  stop(): Promise<void>;
}

/**
 * Composes the whole service, from the bottom to the top: store, engine, webhooks, servers; stopping
 * goes the other way. The only place that knows all the rooms.
 * @throws when the database, the certificate, the address or the key of webhook secrets cannot be used.
 */
export async function startService(config: Config): Promise<Service> {
  const log = logger(config);
  if (config.unknownSettings.length > 0) log.warn({ settings: config.unknownSettings }, "unknown settings");
  await checkFree(config.listen);
  const languages = ourLanguages();
  const meter = new Prometheus(languages.list().map(({ name }) => name));
  const store = await openStore({ ...config, meter });
  const sending = await sendingOf(store, config);
  const tracing = tracingOf(config, log, "assay");
  const tracer = tracing ?? NO_TRACER;
  const worker = config.ownWorker ? work(config, store, log, { meter, tracer }) : null;
  // Where workers may be anywhere, ours is one of them; else it is all there is.
  const fleet = store.manyProcesses ? await WorkerRegistry.start({ store, leaseMs: config.leaseMs, log }) : null;
  const engine = fleet ?? worker?.engine;
  if (!engine) throw new ConfigError("a service without a worker needs a database that it can share with one");
  const deliverer = Deliverer.start({ ...sending, store, log, meter, tracer, drainMs: config.drainMs });
  const { retentionMs } = config;
  const summariser = StatsAggregator.start({ store, log });
  const purger = retentionMs === null ? null : Purger.start({ store, retentionMs, log, meter });
  const stopping = new AbortController();
  const nodes = nodesOf(fleet, worker?.engine ?? null);
  const dependencies: DashboardDependencies = {
    ...dashboardOf({ config, store, languages, sending, nodes, stopping: stopping.signal }),
    store,
    engine,
    canonicalLanguage: (name) => languages.resolve(name)?.name,
    log,
    meter,
    tracer,
    maxPending: config.maxPending,
    holdMs: HOLD_MS,
    dashboardDir: config.dashboardDir,
    provider: providerOf(config),
  };
  const http = new HttpServer(dependencies, config.transport, config.connections);
  const slots = () => worker?.engine.slots() ?? null;
  const operator = new OperatorServer(operatorPages(config, { prometheus: meter, store, engine, slots }));
  const stop = async () => {
    http.beginClosing();
    stopping.abort(new Error("the service is stopping"));
    await worker?.stop();
    await fleet?.stop();
    await deliverer.stop();
    await purger?.stop();
    await summariser.stop();
    await http.close();
    await operator.close();
    await store.close();
    await tracing?.close();
  };
  let port: number;
  try {
    if (config.operatorListen) await operator.listen(config.operatorListen);
    port = await http.listen(config.listen);
    log.info({ port, transport: config.transport.kind }, "listening");
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    port,
    reload: () => http.reloadCertificate(),
    ready: async () => worker?.begun,
    async stop() {
      log.info("draining");
      await stop();
      log.info("stopped");
    },
  };
}

/**
 * A worker without a service: claims what services in other processes accept.
 * @throws when the database or the operator's address cannot be used.
 */
export async function startWorker(config: Config): Promise<{ stop(): Promise<void> }> {
  const log = logger(config);
  if (config.unknownSettings.length > 0) log.warn({ settings: config.unknownSettings }, "unknown settings");
  const prometheus = new Prometheus(
    ourLanguages()
      .list()
      .map(({ name }) => name),
  );
  const store = await openStore({ ...config, meter: prometheus });
  const tracing = tracingOf(config, log, "assay-worker");
  const worker = work(config, store, log, { meter: prometheus, tracer: tracing ?? NO_TRACER });
  const { engine } = worker;
  const operator = new OperatorServer(
    operatorPages(config, { prometheus, store, engine, slots: () => engine.slots() }),
  );
  const stop = async () => {
    await worker.stop();
    await operator.close();
    await store.close();
    await tracing?.close();
  };
  try {
    if (config.operatorListen) await operator.listen(config.operatorListen);
  } catch (error) {
    await stop();
    throw error;
  }
  void worker.begun.then(() => log.info({ workers: worker.engine.workers() }, "working"));
  return {
    async stop() {
      log.info("draining");
      await stop();
      log.info("stopped");
    },
  };
}

/** @throws when the key of webhook secrets, or the authority of receivers, cannot be used; the store is closed then. */
async function sendingOf(store: Store, config: Config): Promise<SendOptions> {
  try {
    return sendOptions(await provenSealerOf(store, config), ownWebhookSettings(config));
  } catch (error) {
    await store.close();
    throw error;
  }
}

function tracingOf({ otlpEndpoint: endpoint }: Config, log: Logger, service: string): Otlp | null {
  return endpoint === null ? null : new Otlp({ endpoint, service, version: version(), log });
}

interface Working {
  readonly engine: Worker;
  readonly begun: Promise<void>;
  /** Drains: nobody counts on it any more, it takes nothing new, and what runs may finish. */
  stop(): Promise<void>;
}

/** A worker in this process; where services in others may look for it, it is announced. */
function work(
  config: Config,
  store: Store,
  log: Logger,
  told: { readonly meter: Meter; readonly tracer: Tracer },
): Working {
  const engine = Worker.start({ ...config, store, languages: ourLanguages(), log, ...told });
  const { leaseMs } = config;
  const announcer = store.manyProcesses
    ? WorkerHeartbeat.start({ store, id: engine.id, worker: engine, leaseMs, log }, engine.begun)
    : null;
  return {
    engine,
    begun: engine.begun,
    async stop() {
      await announcer?.stop();
      await engine.stop();
    },
  };
}

/** JSON lines on stdout. Nothing secret is given to it; and should a header object ever be, these are left out. */
function logger(config: Config): Logger {
  return pino({
    level: config.logLevel,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: SECRET_HEADERS.flatMap((name) => [`req.headers["${name}"]`, `headers["${name}"]`, `["${name}"]`]),
  });
}
