import { type Config, loadConfig } from "../config.ts";
import { openStore } from "../store/open.ts";
import type { Store } from "../store/port.ts";
import { becomeOwner } from "./owner.ts";

/** Who the audit trail says it was: whoever can run this command is root, or the service's user. */
export const ACTOR = "cli";

export interface DataOption {
  readonly data?: string;
}

/** Opens the store of a data directory for one command, whether or not the service runs. */
export async function withStore(
  { data }: DataOption,
  work: (store: Store, config: Config) => Promise<void>,
): Promise<void> {
  const config = loadConfig({ data });
  becomeOwner(config.databasePath, config.secretKey);
  const store = await openStore({ path: config.databasePath });
  try {
    await work(store, config);
  } finally {
    await store.close();
  }
}
