import { globSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { flushCompileCache } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { PostgresServer } from "./postgres-server.ts";

/** Variables with what all test files of a run share: a PostgreSQL server, and migrated databases to copy. */
export const SHARED = {
  server: "ASSAY_TEST_POSTGRES_URL",
  template: "ASSAY_TEST_POSTGRES_TEMPLATE",
  file: "ASSAY_TEST_SQLITE_FILE",
} as const;

/** Called once by `node --test --test-global-setup`; the test files inherit the variables. */
export async function globalSetup(): Promise<void> {
  const server = await PostgresServer.start();
  process.env[SHARED.server] = server.url("postgres");
  const { migratedFile, migratedTemplate } = await import("./temporary.ts");
  const [template, content] = await Promise.all([migratedTemplate(), migratedFile()]);
  process.env[SHARED.template] = template;
  process.env[SHARED.file] = join(tmpdir(), `assay-migrated-${process.pid}.sqlite`);
  await writeFile(process.env[SHARED.file] ?? "", content);
  // Commands cannot write their compiled code to the cache, because they have changed their user before they exit.
  for (const file of globSync("src/cli/*.ts")) await import(resolve(file));
  flushCompileCache();
}
