import type { Logger } from "pino";
import type { Meter } from "../domain/meter.ts";
import type { Engine } from "../domain/readiness.ts";
import type { Tracer } from "../domain/tracer.ts";
import type { Store } from "../store/port.ts";

/** What the server needs from the rest of the service; main composes it. */
export interface Dependencies {
  readonly store: Store;
  readonly engine: Pick<Engine, "workers" | "languages" | "readiness">;
  /** Canonical name of a name or alias; undefined for one that is unknown. */
  readonly canonicalLanguage: (nameOrAlias: string) => string | undefined;
  readonly log: Logger;
  /** Told of every request. */
  readonly meter?: Meter;
  readonly tracer?: Tracer;
  /** Pending submissions that the queue holds. */
  readonly maxPending: number;
  /** How long `wait=true` holds the connection. */
  readonly holdMs: number;
}
