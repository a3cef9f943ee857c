import type { Dependencies } from "../dependencies.ts";

/** What the dashboard needs beside what the server needs; main composes it. */
export interface DashboardDependencies extends Dependencies {}
