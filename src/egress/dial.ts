import { connect, isIP, type Socket } from "node:net";
import { abortAfter } from "../domain/abort-after.ts";
import { type Cidr, isWithin } from "../domain/egress/cidr.ts";
import { whyNotAllGlobal, whyNotGlobal } from "../network/address.ts";
import type { Resolve } from "../network/resolve.ts";

/*
 * Connects to a destination that the policy allows. A name is resolved anew for each connection, each address is checked as a number, and the connection is
 * made to the checked address. So a later response of a name server (rebinding) has no effect, and no notation of an address matters.
 */

/** The most addresses of a name that are tried, one after the other. */
const MAX_ADDRESSES = 4;

export interface DialOptions {
  readonly resolve: Resolve;
  /** Networks that the operator allows sandboxes to reach, although they are not public (ASSAY_EGRESS_PRIVATE). */
  readonly privateNetworks: readonly Cidr[];
  /** The time for each address, and for everything together with the resolution of the name. */
  readonly connectMs: number;
  readonly totalMs: number;
}

export const DIAL_TIMES = { connectMs: 5_000, totalMs: 15_000 } as const;

/**
 * A connection, which is not read before `socket.resume()`. Its bytes are read into one buffer, which it uses again and again: most of the time for
 * downloads would otherwise be spent on freeing buffers.
 */
export interface Connection {
  /** It has no `data` event. */
  readonly socket: Socket;
  /**
   * @param handle gets the bytes that arrive. They are valid until it returns; or if it pauses the socket, until the socket is resumed.
   */
  onBytes(handle: (bytes: Buffer) => void): void;
}

const BUFFER_BYTES = 65_536;

/** `address`: the one to which the connection was made, or the last one that was tried; null if there was none. */
export type Dialed =
  | { readonly kind: "connected"; readonly connection: Connection; readonly address: string }
  /** An address is not allowed. */
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string; readonly address: string | null };

/** Why a sandbox may not reach an address; null if it may. @param address in any notation; only the usual ones are allowed. */
export function whyNotReachable(address: string, privateNetworks: readonly Cidr[]): string | null {
  return isWithin(privateNetworks, address) ? null : whyNotGlobal(address);
}

/**
 * Connects to a name or to an address.
 * @param signal ends the attempt, which has then failed. @returns a connection without delay (TCP_NODELAY), of which each direction ends on its own.
 */
export async function dial(host: string, port: number, options: DialOptions, signal: AbortSignal): Promise<Dialed> {
  const until = abortAfter(options.totalMs, signal);
  let found: readonly string[];
  try {
    found = isIP(host) === 0 ? await options.resolve(host, until) : [host];
  } catch (error) {
    return {
      kind: "failed",
      reason: until.aborted ? `${host} could not be resolved in time` : messageOf(error),
      address: null,
    };
  }
  const why = whyNotAllGlobal(host, found, (address) => whyNotReachable(address, options.privateNetworks));
  if (why !== null) return { kind: "refused", reason: why };
  let failed: Dialed = { kind: "failed", reason: `${host} has no address`, address: null };
  for (const address of found.slice(0, MAX_ADDRESSES)) {
    try {
      return { kind: "connected", connection: await connectTo(address, port, options.connectMs, until), address };
    } catch (error) {
      failed = { kind: "failed", reason: `no connection to ${host}: ${messageOf(error)}`, address };
      if (until.aborted) break;
    }
  }
  return failed;
}

/** @param address must be an address, so that nothing is resolved here. */
async function connectTo(address: string, port: number, connectMs: number, signal: AbortSignal): Promise<Connection> {
  signal.throwIfAborted();
  const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  let handle: (bytes: Buffer) => void = () => {};
  const socket = connect({
    host: address,
    port,
    family: isIP(address),
    allowHalfOpen: true,
    noDelay: true,
    autoSelectFamily: false,
    onread: {
      buffer,
      callback: (length) => {
        handle(buffer.subarray(0, length));
        return true;
      },
    },
  });
  socket.pause();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const late = setTimeout(() => reject(new Error("no response in time")), connectMs);
  const aborted = () => reject(new Error("no response in time"));
  signal.addEventListener("abort", aborted, { once: true });
  socket.once("connect", resolve).once("error", reject);
  try {
    await promise;
    socket.off("error", reject);
    return {
      socket,
      onBytes: (handler) => {
        handle = handler;
      },
    };
  } catch (error) {
    socket.on("error", () => {}); // another one can follow
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(late);
    signal.removeEventListener("abort", aborted);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
