import type { HealthCheck } from "./overview.ts";

/** GET /nodes → Node[]: the workers. */
export interface Node {
  readonly id: string;
  /** The number of submissions that the worker can run at the same time. */
  readonly slots: number;
  readonly languages: readonly string[];
  readonly ready: boolean;
  readonly cgroupBackend: string | null;
  readonly checks: readonly HealthCheck[];
  /** Time of the worker's last proof; null if the worker is not ready. */
  readonly provenAt: string | null;
  /** The submissions that the worker runs now; for a member, only those of own accounts. */
  readonly running: number;
}
