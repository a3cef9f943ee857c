import { once } from "node:events";
import { createServer } from "node:net";
import type { Address } from "../../domain/transport.ts";

/**
 * Binds the address briefly, to fail early before slow work begins.
 * @throws when another process uses it, or when it is not an address of this machine.
 */
export async function checkFree(address: Address): Promise<void> {
  if ("path" in address) return;
  const probe = createServer().listen(address);
  await once(probe, "listening");
  probe.close();
  await once(probe, "close");
}
