import { isIP } from "node:net";
import type { HostPort } from "../domain/transport.ts";
import { whyNotGlobal } from "./address.ts";
import { type Resolve, resolveLocal, resolvePublic } from "./resolve.ts";
import { BlockedError, parseTarget, type Target } from "./target.ts";

/**
 * Checks the addresses of a receiver twice: at its configuration, for an early error, and in
 * every attempt. An attempt resolves the name once and connects only to the checked addresses,
 * so a later DNS response (rebinding) has no effect.
 */

/** Time limit for name resolution at the configuration, while a user waits. */
const LOOK_UP_MS = 5_000;

/**
 * @returns a warning if the name cannot be resolved now, because it may be later and every attempt resolves it again.
 * @throws BlockedError if the URL is not allowed.
 */
export async function checkUrl(
  url: string,
  allowed: readonly HostPort[],
  resolve: Resolve = resolvePublic,
): Promise<string | null> {
  const target = parseTarget(url, allowed);
  if (target.allowed) return null; // its name may not exist yet
  try {
    await permittedAddresses(target, resolve, AbortSignal.timeout(LOOK_UP_MS));
    return null;
  } catch (error) {
    if (error instanceof BlockedError) throw error;
    return `${target.host} cannot be resolved now: ${error instanceof Error ? error.message : error}`;
  }
}

/**
 * Returns the addresses to connect to. A single disallowed address blocks all of them: it is a
 * mistake or an attack, and the choice of the address would be arbitrary.
 * @throws BlockedError, or the error of the name resolution.
 */
export async function permittedAddresses(
  target: Target,
  resolve: Resolve,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const { host, allowed } = target;
  const literal = isIP(host) !== 0;
  if (allowed) return literal ? [host] : await resolveLocal(host, signal);
  const addresses = literal ? [host] : await resolve(host, signal);
  if (addresses.length === 0) throw new Error(`${host} has no address`);
  for (const address of addresses) {
    const why = whyNotGlobal(address);
    if (why !== null)
      throw new BlockedError(
        `only public addresses are allowed: ${literal ? address : `${host}, ${address},`} is ${why}`,
      );
  }
  return addresses;
}
