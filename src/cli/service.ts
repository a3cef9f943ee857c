import pino, { type Logger } from "pino";
import type { Config } from "../config.ts";
import type { Dependencies } from "../http/dependencies.ts";
import { OperatorServer } from "../http/operator.ts";
import { HttpServer } from "../http/server.ts";
import { openStore } from "../store/open.ts";
import { Deliverer } from "../webhooks/deliverer.ts";
import { Worker } from "../worker/worker.ts";
import { ourLanguages } from "./engine.ts";
import { ownWebhookSettings, sendOptions } from "./webhook-settings.ts";

/** The contract's longest hold of `wait=true`. */
const HOLD_MS = 30_000;

export interface Service {
  /** Where clients connect; 0 for a socket file. */
  readonly port: number;
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
  const languages = ourLanguages();
  const sending = sendOptions(config, ownWebhookSettings(config));
  const store = await openStore({ path: config.databasePath });
  const engine = Worker.start({ ...config, store, languages, log });
  const deliverer = Deliverer.start({ ...sending, store, log, drainMs: config.drainMs });
  const dependencies: Dependencies = {
    store,
    engine,
    canonicalLanguage: (name) => languages.resolve(name)?.name,
    log,
    maxPending: config.maxPending,
    holdMs: HOLD_MS,
  };
  const http = new HttpServer(dependencies, config.transport);
  const operator = new OperatorServer(dependencies);
  const stop = async () => {
    http.beginClosing();
    await engine.stop();
    await deliverer.stop(); // after the engine: what it finished last is sent at once
    await http.close();
    await operator.close();
    await store.close();
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
    ready: () => engine.begun,
    async stop() {
      log.info("draining");
      await stop();
      log.info("stopped");
    },
  };
}

/** JSON lines on stdout. A key never appears, wherever a header object may be logged. */
function logger(config: Config): Logger {
  return pino({
    level: config.logLevel,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: ['req.headers["x-api-key"]', 'headers["x-api-key"]', '["x-api-key"]'],
  });
}
