import { AdminError } from "../admin/error.ts";
import type { Config } from "../config.ts";
import { clientError } from "../domain/error.ts";
import type { ManagementDependencies } from "../http/dashboard/dependencies.ts";
import type { Languages } from "../languages/load.ts";
import type { Store } from "../store/store.ts";
import type { AnnouncedWorker } from "../store/workers.ts";
import { beginOf } from "../webhooks/body.ts";
import { checkUrl } from "../webhooks/permitted-addresses.ts";
import type { SendOptions } from "../webhooks/send.ts";
import { sendTest } from "../webhooks/send-test.ts";
import { BlockedError } from "../webhooks/target.ts";
import type { Worker } from "../worker/worker.ts";
import type { WorkerRegistry } from "../worker/worker-registry.ts";
import { installedExamples } from "./installed-languages.ts";

export interface DashboardOptions {
  readonly config: Pick<Config, "database" | "retentionMs" | "ownAuthority">;
  readonly store: Store;
  readonly languages: Languages;
  readonly sending: SendOptions;
  readonly nodes: () => Promise<readonly AnnouncedWorker[]>;
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
}

/** Connects the dashboard to other modules, which `http` does not import. */
export function dashboardOf(options: DashboardOptions): ManagementDependencies {
  const { config, store, languages, sending, nodes, stopping } = options;
  return {
    sealer: sending.sealer,
    checkUrl: (url) => checkUrl(url, sending.allowed).catch(asSentence),
    sendTest: (endpointId, actor) =>
      sendTest(store, sending, endpointId, actor, stopping).catch((error: unknown) => {
        throw stopping.aborted ? clientError("shuttingDown", []) : error;
      }),
    bodyBegin: (message, most) => beginOf(message, most, sending.foreignApis),
    ownAuthority: config.ownAuthority,
    languages,
    examples: installedExamples(languages),
    nodes,
    databaseKind: config.database.kind === "sqlite" ? "SQLite" : "PostgreSQL",
    retentionMs: config.retentionMs,
  };
}

/** The workers that the dashboard shows: those announced in a shared database, or else the worker of this process. */
export function nodesOf(registry: WorkerRegistry | null, worker: Worker | null): DashboardOptions["nodes"] {
  if (registry) return () => registry.nodes();
  return async () => {
    if (!worker) return [];
    const readiness = await worker.readiness();
    return [
      { id: worker.id, slots: worker.capacity(), languages: worker.languages(), readiness, provenAtMs: Date.now() },
    ];
  };
}

/** Makes an AdminError of the message about a blocked address, because the person who configures the endpoint should read it. */
function asSentence(error: unknown): never {
  throw error instanceof BlockedError ? new AdminError(error.message) : error;
}
