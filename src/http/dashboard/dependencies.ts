import type { Dependencies } from "../dependencies.ts";

/** What the dashboard needs beside what the server needs; main composes it. */
export interface DashboardDependencies extends Dependencies {
  /** How often a live view says that it lives, and looks whether its session does; 15 s unless a test is in a hurry. */
  readonly heartbeatMs?: number;
}
