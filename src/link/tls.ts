import { constants } from "node:crypto";
import { once } from "node:events";
import tls, { type TLSSocket } from "node:tls";
import { abortAfter } from "../domain/abort-after.ts";
import type { HostPort } from "../domain/transport.ts";
import { fingerprintOf, type LinkIdentity } from "./certificate.ts";

/**
 * What the process that dials wants: to ask (`use`), or to be asked (`offer`), which a process does that nobody can dial. The number is the
 * version of the protocol.
 */
export const PROTOCOLS = { use: "assay-link-use/1", offer: "assay-link-offer/1" } as const;
export type Direction = keyof typeof PROTOCOLS;

/** How long a connection may take until both sides have proven their keys. */
export const HANDSHAKE_MS = 10_000;

/** TLS 1.3 with the key of this process, without sessions that could outlive what the database says. */
function ownSide({ key, cert }: LinkIdentity) {
  return {
    key,
    cert,
    minVersion: "TLSv1.3",
    maxVersion: "TLSv1.3",
    secureOptions: constants.SSL_OP_NO_TICKET,
    // Certificates have no authority. Who has the key of one is proven by TLS, and whose it is by the fingerprint in the database.
    rejectUnauthorized: false,
  } as const;
}

export function linkServer(identity: LinkIdentity): tls.Server {
  return tls.createServer({
    ...ownSide(identity),
    requestCert: true,
    handshakeTimeout: HANDSHAKE_MS,
    ALPNProtocols: Object.values(PROTOCOLS),
    noDelay: true,
  });
}

/** The fingerprint of the certificate whose key the other side has proven to have; null if it has shown none. */
export function provenFingerprint(socket: TLSSocket): string | null {
  const certificate = socket.getPeerX509Certificate();
  return certificate ? fingerprintOf(certificate.raw) : null;
}

/** What the other side wants; null if it is none of our protocols. */
export function directionOf(socket: TLSSocket): Direction | null {
  const found = Object.entries(PROTOCOLS).find(([, protocol]) => protocol === socket.alpnProtocol);
  return (found?.[0] as Direction | undefined) ?? null;
}

/**
 * Connects to a process. Nothing was sent over the connection before the other side has proven that it is this process.
 * @throws if it cannot be reached in time, or has another key.
 */
export async function dial(
  { host, port }: HostPort,
  fingerprint: string,
  direction: Direction,
  identity: LinkIdentity,
  over: AbortSignal,
): Promise<TLSSocket> {
  const socket = tls.connect({ ...ownSide(identity), host, port, ALPNProtocols: [PROTOCOLS[direction]] });
  socket.setNoDelay(true);
  const signal = abortAfter(HANDSHAKE_MS, over);
  try {
    await once(socket, "secureConnect", { signal });
    if (provenFingerprint(socket) !== fingerprint) throw new Error("the process there has another key");
    if (socket.alpnProtocol !== PROTOCOLS[direction]) throw new Error("the process there has another protocol");
    return socket;
  } catch (error) {
    socket.on("error", () => {});
    socket.destroy();
    throw error;
  }
}
