import type { SendTest } from "../../admin/deliveries.ts";
import type { EndpointDependencies } from "../../admin/endpoints.ts";
import type { Example } from "../../languages/examples.ts";
import type { Languages } from "../../languages/load.ts";
import type { Message } from "../../store/deliveries/types.ts";
import type { AnnouncedWorker } from "../../store/workers.ts";
import type { Dependencies } from "../dependencies.ts";
import type { ProviderSettings } from "./provider.ts";

/** Dependencies of the management routes. */
export interface ManagementDependencies extends Pick<EndpointDependencies, "sealer" | "checkUrl"> {
  readonly sendTest: SendTest;
  /** The first bytes of the body of a delivery; `isCut`: whether there are more. */
  readonly bodyBegin: (message: Message, most: number) => { readonly begin: Buffer; readonly isCut: boolean };
  /** File with the authority that set-up made for the service, for clients on this machine; null if the service has another certificate, or none. */
  readonly ownAuthority: string | null;
  /** The configured languages, available or not. */
  readonly languages: Languages;
  /** Keyed by language. */
  readonly examples: ReadonlyMap<string, readonly Example[]>;
  /** The workers, each with its newest self-test. */
  readonly nodes: () => Promise<readonly AnnouncedWorker[]>;
  readonly databaseKind: "SQLite" | "PostgreSQL";
  /** Null: records are kept indefinitely. */
  readonly retentionMs: number | null;
}

/** Dependencies of the dashboard in addition to those of the server; main composes them. */
export interface DashboardDependencies extends Dependencies, ManagementDependencies {
  /** Directory of the built page; null: not built. */
  readonly dashboardDir: string | null;
  /** The OpenID Connect provider; null: passwords only. */
  readonly provider: ProviderSettings | null;
  /** Interval of heartbeats in a live view; 15 s by default, shorter in tests. */
  readonly heartbeatMs?: number;
}
