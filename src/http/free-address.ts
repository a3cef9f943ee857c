import { once } from "node:events";
import { createServer } from "node:net";
import type { Address } from "../domain/transport.ts";

/**
 * Takes the address for a moment, before anything that takes long is begun.
 * @throws when it is taken by another process, or is none of this machine.
 */
export async function checkFree(address: Address): Promise<void> {
  if ("path" in address) return;
  const probe = createServer().listen(address);
  await once(probe, "listening");
  probe.close();
  await once(probe, "close");
}
