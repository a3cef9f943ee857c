import { once } from "node:events";
import { createServer } from "node:net";
import type { Address } from "../../domain/transport.ts";

/**
 * Checks that a server can listen on the address, by listening for a moment, so that an error is found before slow work begins.
 * @throws if another process uses the address, or if it is not an address of this machine. A socket file is not checked.
 */
export async function checkFree(address: Address): Promise<void> {
  if ("path" in address) return;
  const probe = createServer().listen(address);
  await once(probe, "listening");
  probe.close();
  await once(probe, "close");
}
