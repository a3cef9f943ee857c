import type { Logger } from "pino";
import type { Meter } from "../domain/meter.ts";
import type { WorkerPool } from "../domain/readiness.ts";
import type { Tracer } from "../domain/tracer.ts";
import type { Languages } from "../languages/load.ts";
import type { Store } from "../store/store.ts";

/** Dependencies of the server on the rest of the service; main composes them. */
export interface Dependencies {
  readonly store: Store;
  readonly workers: Pick<WorkerPool, "capacity" | "languages" | "readiness">;
  readonly languages: Languages;
  readonly log: Logger;
  /** Counts every request. */
  readonly meter?: Meter;
  readonly tracer?: Tracer;
  /** Maximum number of pending submissions in the queue. */
  readonly maxPending: number;
  /** How long `wait=true` holds the response. */
  readonly holdMs: number;
}
