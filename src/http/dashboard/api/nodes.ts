import type { HealthCheck } from "./overview.ts";

/** GET /nodes → Node[]: the workers. */
export interface Node {
  readonly id: string;
  readonly slots: number;
  readonly languages: readonly string[];
  readonly ready: boolean;
  readonly cgroupBackend: string | null;
  readonly checks: readonly HealthCheck[];
  readonly provenAt: string | null;
  readonly running: number;
}
