import { lstatSync, unlinkSync } from "node:fs";
import { connect } from "node:net";
import type { Address } from "../domain/transport.ts";

/**
 * Removes the socket file of a process that was killed: it would keep its successor from listening. One that somebody
 * answers on stays, and so does anything else of that name.
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
    // A file that is no socket is refused, too, in the same words; only a socket may be taken away.
    probe.once("error", ({ code }: NodeJS.ErrnoException) =>
      resolve(code === "ECONNREFUSED" && lstatSync(path).isSocket()),
    );
  });
}
