import type { Logger } from "pino";
import type { Conversations } from "../conversation/conversations.ts";
import type { Meter } from "../domain/meter.ts";
import type { WorkerPool } from "../domain/readiness.ts";
import type { SandboxHost } from "../domain/sandboxes/host.ts";
import type { Tracer } from "../domain/tracer.ts";
import type { Languages } from "../languages/load.ts";
import type { Store } from "../store/store.ts";
import type { ForeignRoutes } from "./foreign-routes.ts";

/** What the server needs of the rest of the service. src/cli/service.ts puts it together. */
export interface Dependencies {
  readonly store: Store;
  /** The conversations of clients with running programs. */
  readonly conversations: Conversations;
  readonly workers: Pick<WorkerPool, "capacity" | "languages" | "readiness">;
  readonly languages: Languages;
  /** The sandboxes of this process. */
  readonly sandboxes: SandboxHost;
  /** The routes for clients of other services (src/compat/routes.ts). */
  readonly foreignRoutes: readonly ForeignRoutes[];
  readonly log: Logger;
  /** Counts requests, for metrics. */
  readonly meter?: Meter;
  readonly tracer?: Tracer;
  /** The most pending submissions, of all accounts together. */
  readonly maxPending: number;
  /** How long a request with `wait=true` waits at most for the end of its run. */
  readonly holdMs: number;
}
