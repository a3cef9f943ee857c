import type { SendTest } from "../../admin/deliveries.ts";
import type { EndpointRoom } from "../../admin/endpoints.ts";
import type { Example } from "../../languages/examples.ts";
import type { Languages } from "../../languages/load.ts";
import type { AnnouncedWorker } from "../../store/port.ts";
import type { Dependencies } from "../dependencies.ts";
import type { ProviderSettings } from "./provider.ts";

/** What members and administrators manage with. */
export interface ManagementDependencies extends Pick<EndpointRoom, "sealer" | "checkUrl"> {
  readonly sendTest: SendTest;
  /** Those that are configured, whether proven or not. */
  readonly languages: Languages;
  /** By the name of a language. */
  readonly examples: ReadonlyMap<string, readonly Example[]>;
  /** Those who run submissions, each with its newest proof. */
  readonly nodes: () => Promise<readonly AnnouncedWorker[]>;
  readonly databaseKind: "SQLite" | "PostgreSQL";
  /** Null: records are kept for ever. */
  readonly retentionMs: number | null;
}

/** What the dashboard needs beside what the server needs; main composes it. */
export interface DashboardDependencies extends Dependencies, ManagementDependencies {
  /** Where the built page is; null: there is none. */
  readonly dashboardDir: string | null;
  /** Who else may say who somebody is; null: passwords alone. */
  readonly provider: ProviderSettings | null;
  /** After how long a silence a live view says that it lives; 15 s unless a test is in a hurry. */
  readonly heartbeatMs?: number;
}
