import type { SendTest } from "../../admin/deliveries.ts";
import type { EndpointDependencies } from "../../admin/endpoints.ts";
import type { Example } from "../../languages/examples.ts";
import type { Languages } from "../../languages/load.ts";
import type { DeliveryMessage } from "../../store/deliveries/types.ts";
import type { AnnouncedWorker } from "../../store/workers.ts";
import type { Dependencies } from "../dependencies.ts";
import type { ProviderSettings } from "./provider.ts";

/** What the dashboard needs to manage endpoints, languages and workers. */
export interface ManagementDependencies extends Pick<EndpointDependencies, "sealer" | "checkUrl"> {
  readonly sendTest: SendTest;
  /** At most the first `most` bytes of the body of a delivery. `isCut` says whether the body is longer. */
  readonly bodyBegin: (message: DeliveryMessage, most: number) => { readonly begin: Buffer; readonly isCut: boolean };
  /** Path of the certificate authority that set-up made for the service; null if the service has another certificate, or none. */
  readonly ownAuthority: string | null;
  /** All configured languages, whether available or not. */
  readonly languages: Languages;
  /** The examples by the name of the language. */
  readonly examples: ReadonlyMap<string, readonly Example[]>;
  /** The workers, each with its newest proof. */
  readonly nodes: () => Promise<readonly AnnouncedWorker[]>;
  readonly databaseKind: "SQLite" | "PostgreSQL";
  /** How long records are kept; null if they are kept indefinitely. */
  readonly retentionMs: number | null;
}

/** Everything that the dashboard's routes need. */
export interface DashboardDependencies extends Dependencies, ManagementDependencies {
  /** Directory of the built dashboard; null if it has not been built. */
  readonly dashboardDir: string | null;
  /** The OpenID Connect provider; null if people can sign in only with passwords. */
  readonly provider: ProviderSettings | null;
  /** Interval of heartbeats in the stream of a submission; 15 s by default, shorter in tests. */
  readonly heartbeatMs?: number;
}
