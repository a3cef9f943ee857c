import { isIP } from "node:net";
import type { HostPort } from "../domain/transport.ts";
import { whyNotAllGlobal } from "../network/address.ts";
import { type Resolve, resolveLocal, resolvePublic } from "../network/resolve.ts";
import { BlockedError, parseTarget, type WebhookTarget } from "./target.ts";

/**
 * The addresses of a receiver are checked when its URL is configured, for an early error, and again in every attempt. An attempt resolves
 * the name once and connects only to the checked addresses, so a later DNS response (rebinding) has no effect.
 */

/** The time limit for resolving a name when a URL is configured, while a user waits. */
const LOOK_UP_MS = 5_000;

/**
 * Checks a URL that a user configures.
 * @returns null, or a warning if the name cannot be resolved now. This is no error, because every attempt resolves the name again.
 * @throws BlockedError if the URL or one of its addresses is not allowed.
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
 * Returns the addresses to connect to.
 * @throws BlockedError, or the error of the name resolution.
 */
export async function permittedAddresses(
  target: WebhookTarget,
  resolve: Resolve,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const { host, allowed } = target;
  const literal = isIP(host) !== 0;
  if (allowed) return literal ? [host] : await resolveLocal(host, signal);
  const addresses = literal ? [host] : await resolve(host, signal);
  if (addresses.length === 0) throw new Error(`${host} has no address`);
  const why = whyNotAllGlobal(host, addresses);
  if (why !== null) throw new BlockedError(why);
  return addresses;
}
