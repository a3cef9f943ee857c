import { lstatSync, unlinkSync } from "node:fs";
import { connect } from "node:net";
import type { Address } from "../../domain/transport.ts";

/**
 * Removes the socket file that a killed process has left, because it would prevent this process from listening. A socket that is in use,
 * and any other file, stay.
 */
export async function removeStaleSocket(address: Address): Promise<void> {
  if ("path" in address && (await isRefused(address.path))) unlinkSync(address.path);
}

function isRefused(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path);
    probe.once("connect", () => {
      probe.destroy();
      resolve(false);
    });
    // Connecting to a file that is not a socket fails with ECONNREFUSED as well, but only a socket may be removed.
    probe.once("error", ({ code }: NodeJS.ErrnoException) =>
      resolve(code === "ECONNREFUSED" && lstatSync(path).isSocket()),
    );
  });
}
