import type { Config } from "../config.ts";
import type { WorkerPool } from "../domain/readiness.ts";
import type { Recent, SandboxCounts, ServiceStatus, Shares, SlotCounts, SnapshotCounts } from "../domain/status.ts";
import type { OperatorDependencies } from "../http/operator.ts";
import { VERSION } from "../http/responses/version.ts";
import { setGauges, setSandboxGauges } from "../metrics/gauges.ts";
import type { Prometheus } from "../metrics/prometheus.ts";
import { StatusSampler } from "../metrics/status-sampler.ts";
import type { Store } from "../store/store.ts";
import { installedLanguages } from "./installed-languages.ts";

const RECENT_MS = 300_000;
const ACCOUNTS = 10;

/** The content of `/status`. */
export interface StatusPage extends ServiceStatus {
  /** The submissions that ended in the last five minutes, by verdict; null if the database is unavailable. */
  readonly recent: Recent | null;
  /** The accounts with the highest use, those with the most pending submissions first; null if the database is unavailable. */
  readonly shares: Shares | null;
  /** The sandboxes of this process; null if it can have none. */
  readonly sandboxes: SandboxCounts | null;
  /** The snapshots in the directory of this process; null if it can have no sandboxes. */
  readonly snapshots: SnapshotCounts | null;
}

/** The pages of the operator listener. @param slots returns null in a process without a worker, and the last two in one without sandboxes. */
export function operatorPages(
  config: Config,
  {
    prometheus,
    store,
    workers,
    slots,
    sandboxes = () => null,
    snapshots = () => null,
  }: {
    prometheus: Prometheus;
    store: Store;
    workers: WorkerPool;
    slots: () => SlotCounts | null;
    sandboxes?: () => SandboxCounts | null;
    snapshots?: () => SnapshotCounts | null;
  },
): OperatorDependencies {
  const { dataDir, transport } = config;
  const certificatePath = transport.kind === "https" ? transport.certPath : null;
  const sampler = new StatusSampler({ version: VERSION, store, workers, slots, dataDir, certificatePath });
  const languages = installedLanguages()
    .list()
    .map(({ name }) => name);
  return {
    store,
    workers,
    metrics: {
      contentType: prometheus.contentType,
      async text() {
        setGauges(prometheus, await sampler.status(), languages);
        setSandboxGauges(prometheus, sandboxes(), snapshots());
        return await prometheus.text();
      },
    },
    async status(): Promise<StatusPage> {
      const status = await sampler.status();
      const verdicts = status.database && (await store.endedWithin(RECENT_MS).catch(() => null));
      const shares = status.database && (await store.queue.shares(ACCOUNTS).catch(() => null));
      return {
        ...status,
        recent: verdicts && { withinMs: RECENT_MS, verdicts },
        shares,
        sandboxes: sandboxes(),
        snapshots: snapshots(),
      };
    },
  };
}
