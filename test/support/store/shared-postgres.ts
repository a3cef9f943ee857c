import { PostgresServer } from "./postgres-server.ts";

/** Variable with the URL of the PostgreSQL server that all test files of a run share. */
export const SHARED = "ASSAY_TEST_POSTGRES_URL";

/** Called once by `node --test --test-global-setup`; the test files inherit the variable. */
export async function globalSetup(): Promise<void> {
  const server = await PostgresServer.start();
  process.env[SHARED] = server.url("postgres");
}
