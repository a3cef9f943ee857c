import { lstatSync, unlinkSync } from "node:fs";
import { connect } from "node:net";
import type { Address } from "../../domain/transport.ts";

/**
 * Removes the socket file of a killed process, which would prevent the next process from listening. A socket in use and
 * any other file are kept.
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
    // A connection to a file that is not a socket fails with the same code; only a socket may be removed.
    probe.once("error", ({ code }: NodeJS.ErrnoException) =>
      resolve(code === "ECONNREFUSED" && lstatSync(path).isSocket()),
    );
  });
}
