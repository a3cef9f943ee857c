import { isIP } from "node:net";
import type { HostPort } from "../domain/transport.ts";
import { whyNotGlobal } from "./address.ts";
import { type Resolve, resolveLocal, resolvePublic } from "./resolve.ts";
import { BlockedError, parseTarget, type Target } from "./target.ts";

/**
 * Looks at the address twice: when it is configured, so that a person hears of it, and for
 * every attempt, where it counts. An attempt asks for the addresses once and connects to
 * exactly those that were judged, so an answer that changes (rebinding) changes nothing.
 */

/** How long a person waits for name servers that say nothing. */
const LOOK_UP_MS = 5_000;

/**
 * @returns a caution when its name cannot be looked up now: it may be given one later, and every attempt looks again.
 * @throws BlockedError when nothing may be sent there.
 */
export async function checkUrl(
  url: string,
  allowed: readonly HostPort[],
  resolve: Resolve = resolvePublic,
): Promise<string | null> {
  const target = parseTarget(url, allowed);
  if (target.allowed) return null; // it may not be up yet
  try {
    await permittedAddresses(target, resolve, AbortSignal.timeout(LOOK_UP_MS));
    return null;
  } catch (error) {
    if (error instanceof BlockedError) throw error;
    return `${target.host} cannot be looked up now: ${error instanceof Error ? error.message : error}`;
  }
}

/**
 * The addresses to connect to, and no others. One that is not allowed spoils the whole answer:
 * it is a mistake or an attack, and which address would be used is chance.
 * @throws BlockedError; or what the look-up throws.
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
      throw new BlockedError(`${literal ? "" : `${host} is `}${address} (${why}), which is not allowed`);
  }
  return addresses;
}
