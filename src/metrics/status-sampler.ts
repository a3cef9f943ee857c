import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { notReady, type WorkerPool } from "../domain/readiness.ts";
import type { Backlog, ServiceStatus, SlotCounts } from "../domain/status.ts";
import type { Store } from "../store/store.ts";

export interface StatusSamplerOptions {
  readonly version: string;
  readonly store: Pick<Store, "ping" | "backlog">;
  readonly workers: Pick<WorkerPool, "capacity" | "languages" | "readiness">;
  /** Null in a process that runs no submissions. */
  readonly slots: () => SlotCounts | null;
  readonly dataDir: string;
  /** The file of the server certificate; null if the service does not use HTTPS. */
  readonly certificatePath: string | null;
}

/** How long a slow part of the status may delay the others: a scrape by Prometheus times out after 10 s. */
const DATABASE_MS = 3_000;
const PROOF_MS = 8_000;

/** Collects the status of a service or worker. Requests at the same time share one result. */
export class StatusSampler {
  readonly #options: StatusSamplerOptions;
  #underWay: Promise<ServiceStatus> | null = null;
  #asked: Promise<ServiceStatus["database"]> | null = null;
  #readyAtMs: number | null = null;

  constructor(options: StatusSamplerOptions) {
    this.#options = options;
  }

  status(): Promise<ServiceStatus> {
    this.#underWay ??= this.#status().finally(() => {
      this.#underWay = null;
    });
    return this.#underWay;
  }

  async #status(): Promise<ServiceStatus> {
    const { version, workers, slots, dataDir, certificatePath } = this.#options;
    const [readiness, database, disk] = await Promise.all([
      within(PROOF_MS, workers.readiness()),
      within(DATABASE_MS, this.#database()),
      statfs(dataDir).catch(() => null),
    ]);
    const { ready, checks } = readiness ?? notReady(`no proof within ${PROOF_MS / 1000} s`);
    if (ready) this.#readyAtMs = Date.now();
    return {
      version,
      engine: {
        ready,
        readyAtMs: this.#readyAtMs,
        failures: checks.filter(({ ok }) => !ok),
        workers: workers.capacity(),
        languages: workers.languages(),
      },
      slots: slots(),
      database,
      disk: disk && { freeBytes: disk.bavail * disk.bsize, sizeBytes: disk.blocks * disk.bsize },
      certificateEndsAtMs: certificatePath === null ? null : endOf(certificatePath),
    };
  }

  /** At most one query at a time, so that scrapes do not accumulate on a hanging database. */
  #database(): Promise<ServiceStatus["database"]> {
    this.#asked ??= this.#ask().finally(() => {
      this.#asked = null;
    });
    return this.#asked;
  }

  async #ask(): Promise<{ latencyMs: number; backlog: Backlog }> {
    const { store } = this.#options;
    const started = performance.now();
    await store.ping();
    const latencyMs = performance.now() - started;
    return { latencyMs, backlog: await store.backlog() };
  }
}

/** Waits for the work. @returns null if it failed or took longer than `ms`. An error of the work is not logged. */
async function within<T>(ms: number, work: Promise<T>): Promise<T | null> {
  const timeout = Promise.withResolvers<null>();
  const timer = setTimeout(() => timeout.resolve(null), ms);
  try {
    return await Promise.race([work.catch(() => null), timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** When the certificate in the file expires. A renewed file counts at once, although the service may not have loaded it yet. */
function endOf(path: string): number | null {
  try {
    return Date.parse(new X509Certificate(readFileSync(path)).validTo);
  } catch {
    return null;
  }
}
