import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { environment } from "../../support/launcher/launcher.ts";
import { postgresServer } from "../../support/store/temporary.ts";
import type { Certificates, Receiver } from "../../support/webhooks/receiver.ts";
import { type Ledger, postgresLedger, sqliteLedger } from "./ledger.ts";
import { type Installation, installation } from "./real-serve.ts";

export type Kind = "SQLite" | "PostgreSQL";

/** An installation with an empty database of its own. */
export async function place(
  t: TestContext,
  kind: Kind,
  settings: Record<string, string> = {},
): Promise<{ readonly home: Installation; readonly ledger: Ledger }> {
  if (kind === "SQLite") {
    const home = installation(t, settings);
    return { home, ledger: sqliteLedger(join(home.data, "db/assay.sqlite")) };
  }
  const server = await postgresServer();
  const url = server.url(await server.createDatabase());
  const ledger = postgresLedger(url);
  t.after(() => ledger.close());
  return { home: installation(t, { ...settings, ASSAY_DATABASE: url }), ledger };
}

/** Settings that allow a service to send to a test receiver. */
export function receiverSettings(t: TestContext, { ca }: Certificates, { port }: Receiver): Record<string, string> {
  const file = join(environment("ASSAY_TEST_DATA"), `receiver-${port}.pem`); // where the service's user can read it
  writeFileSync(file, ca);
  t.after(() => rmSync(file));
  return { ASSAY_WEBHOOK_ALLOW: `127.0.0.1:${port}`, ASSAY_WEBHOOK_CA: file };
}
