import type { Dependencies } from "../dependencies.ts";
import type { ProviderSettings } from "./provider.ts";

/** What the dashboard needs beside what the server needs; main composes it. */
export interface DashboardDependencies extends Dependencies {
  /** Where the built page is; null: there is none. */
  readonly dashboardDir: string | null;
  /** Who else may say who somebody is; null: passwords alone. */
  readonly provider: ProviderSettings | null;
}
