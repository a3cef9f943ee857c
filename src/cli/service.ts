import { randomUUID } from "node:crypto";
import { totalmem } from "node:os";
import { join } from "node:path";
import pino, { type Logger } from "pino";
import { FOREIGN_APIS } from "../compat/apis.ts";
import { FOREIGN_ROUTES } from "../compat/routes.ts";
import { type Config, ConfigError } from "../config.ts";
import { Conversations } from "../conversation/conversations.ts";
import type { Meter } from "../domain/meter.ts";
import { NO_TRACER, type Tracer } from "../domain/tracer.ts";
import { EGRESS_SOCKET, Egress } from "../egress/egress-thread.ts";
import { StatsAggregator } from "../history/stats-aggregator.ts";
import type { DashboardDependencies } from "../http/dashboard/dependencies.ts";
import { checkFree } from "../http/listener/free-address.ts";
import { OperatorServer } from "../http/operator.ts";
import { VERSION } from "../http/responses/version.ts";
import { HttpServer } from "../http/server.ts";
import { Link } from "../link/link.ts";
import { LinkedSandboxes } from "../link/linked-sandboxes.ts";
import { Prometheus } from "../metrics/prometheus.ts";
import { Purger } from "../retention/purger.ts";
import { sandboxesOf } from "../sandbox/held-sandbox.ts";
import { openStore } from "../store/open.ts";
import type { Store } from "../store/store.ts";
import type { Otlp } from "../tracing/otlp.ts";
import { Deliverer } from "../webhooks/deliverer.ts";
import { fileSealer } from "../webhooks/seal.ts";
import type { SendOptions } from "../webhooks/send.ts";
import { SandboxClaims } from "../worker/sandboxes/claims.ts";
import { NO_SANDBOXES, SandboxKeeper, type SandboxKeeperOptions } from "../worker/sandboxes/keeper.ts";
import { NetworkRuns, type NetworkRunsOptions } from "../worker/sandboxes/network-runs.ts";
import { SnapshotStore } from "../worker/sandboxes/snapshot-store.ts";
import { SnapshotSweeper } from "../worker/sandboxes/snapshot-sweeper.ts";
import { Snapshots } from "../worker/sandboxes/snapshots.ts";
import { SandboxSweeper } from "../worker/sandboxes/sweeper.ts";
import { Worker } from "../worker/worker.ts";
import { WorkerHeartbeat } from "../worker/worker-heartbeat.ts";
import { WorkerRegistry } from "../worker/worker-registry.ts";
import { dashboardOf, nodesOf } from "./dashboard.ts";
import { installedLanguages } from "./installed-languages.ts";
import { providerOf } from "./oidc-settings.ts";
import { operatorPages } from "./operator-pages.ts";
import { ownWebhookSettings, provenSealerOf, sendOptions } from "./webhook-settings.ts";

/** How long a request with `wait=true` waits at most, as docs/api.md promises. */
const HOLD_MS = 30_000;

const SECRET_HEADERS = ["x-api-key", "authorization", "proxy-authorization", "cookie"];

export interface Service {
  /** The port on which the service listens; 0 for a socket file. */
  readonly port: number;
  /** Reloads the certificate. */
  reload(): void;
  /** Resolves when the worker of this process has tested the languages and claims submissions; at once if the process has no worker. */
  ready(): Promise<void>;
  /** Lets running submissions finish within the drain time, and stops. Resolves when all data is durable and everything is closed. */
  stop(): Promise<void>;
}

/**
 * Composes the service from the bottom up: store, worker, webhooks, servers. At a stop, new requests are refused first; the
 * store is closed when nothing uses it any more, and then the traces are sent.
 * @throws if the database, certificate, address or key of webhook secrets cannot be used.
 */
export async function startService(config: Config): Promise<Service> {
  const log = logger(config);
  if (config.unknownSettings.length > 0) log.warn({ settings: config.unknownSettings }, "unknown settings");
  await checkFree(config.listen);
  const languages = installedLanguages();
  const meter = new Prometheus(languages.list().map(({ name }) => name));
  const store = await openStore({ ...config, meter });
  const sending = await sendingOf(store, config);
  const tracing = await tracingOf(config, log, "assay");
  const tracer = tracing ?? NO_TRACER;
  // If several processes can use the database, a client can be connected to another process than the one that runs its program.
  const conversations = new Conversations({ store, log, inProcess: !store.manyProcesses });
  const snapshots = config.ownWorker && config.sandboxes > 0 ? await snapshotsOf(config, store, log) : null;
  const ownWorker = config.ownWorker ? startOwnWorker(config, store, log, { conversations, meter, tracer }) : null;
  // With a shared database, the worker of this process is one of several; otherwise, it is the only one.
  const registry = store.manyProcesses ? await WorkerRegistry.start({ store, leaseMs: config.leaseMs, log }) : null;
  const workers = registry ?? ownWorker?.worker;
  if (!workers)
    throw new ConfigError("a service without a worker needs a PostgreSQL database, which it shares with workers");
  const egress = ownWorker && snapshots ? await egressOf(config, store, log, meter, ownWorker.worker.id) : null;
  const keeper =
    ownWorker && snapshots
      ? keeperOf(config, {
          store,
          log,
          meter,
          snapshots: snapshots.kept,
          egress,
          sealer: sending.sealer,
          worker: ownWorker.worker.id,
        })
      : null;
  await keeper?.takeOver();
  if (ownWorker && keeper && egress)
    ownWorker.worker.runNetworks(networkRunsOf(config, { store, log, keeper, egress }));
  // Sandboxes of an earlier process of this database that were not taken over are lost.
  const sweeper = await SandboxSweeper.start({
    store,
    leaseMs: config.leaseMs,
    worker: ownWorker?.worker.id ?? "none",
    log,
    meter,
  });
  // Sandboxes that live have the places and the memory before this process claims any, and before others can ask it.
  const id = ownWorker?.worker.id ?? randomUUID();
  const linked = store.manyProcesses ? await linkedOf(config, { store, log, id, keeper, isService: true }) : null;
  const deliverer = Deliverer.start({ ...sending, store, log, meter, tracer, drainMs: config.drainMs });
  const { retentionMs } = config;
  const aggregator = StatsAggregator.start({ store, log, slots: () => workers.capacity() });
  const purger = retentionMs === null ? null : Purger.start({ store, retentionMs, log, meter });
  const stopping = new AbortController();
  const nodes = nodesOf(registry, ownWorker?.worker ?? null);
  const dependencies: DashboardDependencies = {
    ...dashboardOf({ config, store, languages, sending, nodes, stopping: stopping.signal }),
    store,
    conversations,
    workers,
    sandboxes: linked?.sandboxes ?? keeper ?? NO_SANDBOXES,
    foreignRoutes: FOREIGN_ROUTES,
    log,
    meter,
    tracer,
    maxPending: config.maxPending,
    holdMs: HOLD_MS,
    dashboardDir: config.dashboardDir,
    provider: providerOf(config),
  };
  const http = new HttpServer(dependencies, config.transport, config.connections);
  const slots = () => ownWorker?.worker.slots() ?? null;
  const operator = new OperatorServer(
    operatorPages(config, { prometheus: meter, store, workers, slots, ...countsOf(keeper, snapshots) }),
  );
  const stop = async () => {
    http.beginClosing();
    stopping.abort(new Error("the service is stopping"));
    await linked?.claims?.stop();
    await Promise.all([ownWorker?.stop(), keeper?.stop()]);
    await egress?.stop();
    // Together, because each has a time limit of its own: the last webhook attempts have 10 s, the last responses 2 s.
    await Promise.all([
      registry?.stop(),
      sweeper.stop(),
      snapshots?.sweeper.stop(),
      deliverer.stop(),
      purger?.stop(),
      aggregator.stop(),
      http.close(),
      operator.close(),
    ]);
    linked?.sandboxes.stop();
    await linked?.link.stop();
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
    ready: async () => ownWorker?.begun,
    async stop() {
      log.info("draining");
      await stop();
      log.info("stopped");
    },
  };
}

/** The links of a process of a shared database, and the sandboxes of all processes. */
interface Linked {
  readonly link: Link;
  readonly sandboxes: LinkedSandboxes;
  /** Null if this process has no sandboxes. */
  readonly claims: SandboxClaims | null;
}

async function linkedOf(
  { link: settings, leaseMs }: Config,
  {
    store,
    log,
    id,
    keeper,
    isService,
  }: {
    readonly store: Store;
    readonly log: Logger;
    readonly id: string;
    readonly keeper: SandboxKeeper | null;
    readonly isService: boolean;
  },
): Promise<Linked> {
  const { listen = null, address = null } = settings ?? {};
  const capacity = keeper?.capacity ?? null;
  const snapshotStore = keeper?.snapshotStore ?? null;
  const own = { id, isService, capacity, snapshotStore, host: keeper };
  const link = await Link.start({ store, ...own, listen, address, leaseMs, log });
  const sandboxes = new LinkedSandboxes({ store, link, local: keeper, snapshotStore });
  // A service can also claim what it waits for itself, when it has room again.
  const services = {
    current: () => [...link.services, ...(isService ? [id] : [])],
    onChange: (listener: () => void) => link.onChange(listener),
  };
  const claims = keeper && new SandboxClaims({ store, keeper, services, log });
  return { link, sandboxes, claims };
}

/** The memory for output and input of executions, of all sandboxes together. */
const BUFFER_BYTES = Math.min(Math.max(Math.floor(totalmem() / 32), 134_217_728), 1_073_741_824);

/** The snapshots on the disk of this machine. @throws if the disk cannot be used. */
async function snapshotsOf(config: Config, store: Store, log: Logger) {
  const { snapshotDirectory, snapshotBytes, snapshotMs } = config;
  const files = await SnapshotStore.open(snapshotDirectory);
  const kept = await Snapshots.start({ store, files, bytes: snapshotBytes, log });
  const { manyProcesses } = store;
  const sweeper = await SnapshotSweeper.start({ snapshots: kept, keepMs: snapshotMs, manyProcesses, log });
  return { kept, sweeper };
}

/** What the operator sees of sandboxes and snapshots. */
function countsOf(keeper: SandboxKeeper | null, snapshots: { readonly kept: Snapshots } | null) {
  return { sandboxes: () => keeper?.counts() ?? null, snapshots: () => snapshots?.kept.counts() ?? null };
}

/** The network of the sandboxes of this process; null if they can have none. @throws if its socket cannot be made. */
async function egressOf(
  { egress: settings }: Config,
  store: Store,
  log: Logger,
  meter: Meter,
  worker: string,
): Promise<Egress | null> {
  if (!settings) return null;
  const { directory, privateNetworks } = settings;
  const path = join(directory, EGRESS_SOCKET);
  return await Egress.start({ path, privateNetworks, ledger: store.egress, worker, log, meter });
}

/** The sandboxes of this process, in the launcher of its worker. */
function keeperOf(
  config: Config,
  options: Pick<SandboxKeeperOptions, "log" | "meter" | "snapshots" | "egress" | "sealer" | "worker"> & {
    readonly store: Store;
  },
): SandboxKeeper {
  const { sandboxes, sandboxMemoryBytes: memoryBytes, sandboxDiskBytes: diskBytes, sandboxCpus: cpus } = config;
  const { launcherSocket, leaseMs } = config;
  return SandboxKeeper.start({
    ...options,
    engine: sandboxesOf(launcherSocket),
    languages: installedLanguages(),
    capacity: { sandboxes, memoryBytes, diskBytes, cpus, network: options.egress != null },
    bufferBytes: BUFFER_BYTES,
    leaseMs,
    leaves: config.leavesSandboxes,
  });
}

/** What runs submissions with a network, in the launcher of the worker. */
function networkRunsOf(
  { launcherSocket, leaseMs }: Config,
  options: Pick<NetworkRunsOptions, "keeper" | "egress" | "log"> & { readonly store: Store },
): NetworkRuns {
  return new NetworkRuns({
    ...options,
    engine: sandboxesOf(launcherSocket),
    languages: installedLanguages(),
    leaseMs,
  });
}

/**
 * A worker without a service: claims submissions that services in other processes accept.
 * @throws if the database or the operator's address cannot be used.
 */
export async function startWorker(config: Config): Promise<{ stop(): Promise<void> }> {
  const log = logger(config);
  if (config.unknownSettings.length > 0) log.warn({ settings: config.unknownSettings }, "unknown settings");
  const prometheus = new Prometheus(
    installedLanguages()
      .list()
      .map(({ name }) => name),
  );
  const store = await openStore({ ...config, meter: prometheus });
  const tracing = await tracingOf(config, log, "assay-worker");
  const conversations = new Conversations({ store, log, inProcess: false });
  const snapshots = config.sandboxes > 0 ? await snapshotsOf(config, store, log) : null;
  const ownWorker = startOwnWorker(config, store, log, {
    conversations,
    meter: prometheus,
    tracer: tracing ?? NO_TRACER,
  });
  const { worker } = ownWorker;
  // The keys of webhook secrets stay with the services.
  const sealer = snapshots && fileSealer(config.sandboxKey);
  const egress = snapshots ? await egressOf(config, store, log, prometheus, worker.id) : null;
  const keeper =
    snapshots && sealer
      ? keeperOf(config, {
          store,
          log,
          meter: prometheus,
          snapshots: snapshots.kept,
          egress,
          sealer,
          worker: worker.id,
        })
      : null;
  await keeper?.takeOver();
  if (keeper && egress) worker.runNetworks(networkRunsOf(config, { store, log, keeper, egress }));
  const linked = keeper && (await linkedOf(config, { store, log, id: worker.id, keeper, isService: false }));
  const operator = new OperatorServer(
    operatorPages(config, {
      prometheus,
      store,
      workers: worker,
      slots: () => worker.slots(),
      ...countsOf(keeper, snapshots),
    }),
  );
  const stop = async () => {
    await linked?.claims?.stop();
    await Promise.all([ownWorker.stop(), keeper?.stop()]);
    await egress?.stop();
    await snapshots?.sweeper.stop();
    // After the ends of the sandboxes, which services still hear of.
    await linked?.link.stop();
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
  void ownWorker.begun.then(() => log.info({ workers: worker.capacity() }, "working"));
  return {
    async stop() {
      log.info("draining");
      await stop();
      log.info("stopped");
    },
  };
}

/**
 * What sending webhooks needs. @throws if the key of webhook secrets or the authority of receivers cannot be used; the store is
 * then closed.
 */
async function sendingOf(store: Store, config: Config): Promise<SendOptions> {
  try {
    return sendOptions(await provenSealerOf(store, config), ownWebhookSettings(config));
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The OpenTelemetry library is loaded only if a collector is set, because it has 160 modules. */
async function tracingOf({ otlpEndpoint: endpoint }: Config, log: Logger, service: string): Promise<Otlp | null> {
  if (endpoint === null) return null;
  const { Otlp } = await import("../tracing/otlp.ts");
  return new Otlp({ endpoint, service, version: VERSION, log });
}

interface OwnWorker {
  readonly worker: Worker;
  readonly begun: Promise<void>;
  /** Stops the worker: it leaves the table of workers, claims nothing more, and lets running submissions finish. */
  stop(): Promise<void>;
}

/** Starts a worker in this process. It is announced to other processes if the database is shared. */
function startOwnWorker(
  config: Config,
  store: Store,
  log: Logger,
  told: { readonly conversations: Conversations; readonly meter: Meter; readonly tracer: Tracer },
): OwnWorker {
  const worker = Worker.start({
    ...config,
    store,
    languages: installedLanguages(),
    foreignApis: FOREIGN_APIS,
    log,
    ...told,
  });
  const { leaseMs } = config;
  const heartbeat = store.manyProcesses
    ? WorkerHeartbeat.start({ store, id: worker.id, worker, leaseMs, log }, worker.begun)
    : null;
  return {
    worker,
    begun: worker.begun,
    async stop() {
      await heartbeat?.stop();
      await worker.stop();
    },
  };
}

/** JSON lines on stdout. No secret is logged; as a precaution, these headers are removed. */
function logger(config: Config): Logger {
  return pino({
    level: config.logLevel,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: SECRET_HEADERS.flatMap((name) => [`req.headers["${name}"]`, `headers["${name}"]`, `["${name}"]`]),
  });
}
