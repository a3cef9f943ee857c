import { AdminError } from "../admin/error.ts";
import type { Config } from "../config.ts";
import { clientError } from "../domain/error.ts";
import type { ManagementDependencies } from "../http/dashboard/dependencies.ts";
import type { Languages } from "../languages/load.ts";
import type { AnnouncedWorker, Store } from "../store/port.ts";
import { checkUrl } from "../webhooks/guard.ts";
import type { SendOptions } from "../webhooks/send.ts";
import { sendTest } from "../webhooks/send-test.ts";
import { BlockedError } from "../webhooks/target.ts";
import type { Worker } from "../worker/worker.ts";
import type { WorkerRegistry } from "../worker/worker-registry.ts";
import { ourExamples } from "./engine.ts";

export interface DashboardOptions {
  readonly config: Pick<Config, "database" | "retentionMs">;
  readonly store: Store;
  readonly languages: Languages;
  readonly sending: SendOptions;
  readonly nodes: () => Promise<readonly AnnouncedWorker[]>;
  /** The service stops: a test that is under way is given up. */
  readonly stopping: AbortSignal;
}

/** What the dashboard does with other rooms, for `http`, which knows none of them. */
export function dashboardOf(options: DashboardOptions): ManagementDependencies {
  const { config, store, languages, sending, nodes, stopping } = options;
  return {
    sealer: sending.sealer,
    checkUrl: (url) => checkUrl(url, sending.allowed).catch(asSentence),
    sendTest: (endpointId, actor) =>
      sendTest(store, sending, endpointId, actor, stopping).catch((error: unknown) => {
        throw stopping.aborted ? clientError("shuttingDown", []) : error;
      }),
    languages,
    examples: ourExamples(languages),
    nodes,
    databaseKind: config.database.kind === "sqlite" ? "SQLite" : "PostgreSQL",
    retentionMs: config.retentionMs,
  };
}

/** Workers as they are seen where they may be anywhere, or else the one that there is. */
export function nodesOf(fleet: WorkerRegistry | null, worker: Worker | null): DashboardOptions["nodes"] {
  if (fleet) return () => fleet.nodes();
  return async () => {
    if (!worker) return [];
    const readiness = await worker.readiness();
    return [
      { id: worker.id, slots: worker.workers(), languages: worker.languages(), readiness, provenAtMs: Date.now() },
    ];
  };
}

/** What the guard says is written for whoever gave the address. */
function asSentence(error: unknown): never {
  throw error instanceof BlockedError ? new AdminError(error.message) : error;
}
