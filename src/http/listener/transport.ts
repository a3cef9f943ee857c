import { BlockList, isIP, isIPv6 } from "node:net";
import type { FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";
import type { Transport } from "../../domain/transport.ts";

/** Whether an address is a trusted proxy. Hop 0 is the peer of the connection. */
export type TrustsHop = (address: string | undefined, hop: number) => boolean;

/**
 * Makes the check that has to be the first for each request. Behind a proxy, it accepts only requests from a configured proxy whose client
 * used HTTPS; otherwise it accepts all.
 * @returns the check, which throws the ClientError httpsRequired.
 */
export function httpsCheck(transport: Transport, trusts: TrustsHop): (request: FastifyRequest) => void {
  if (transport.kind !== "proxied") return () => {};
  return (request) => {
    const proto = request.headers["x-forwarded-proto"];
    if (!trusts(request.socket.remoteAddress, 0) || proto !== "https") throw clientError("httpsRequired", []);
  };
}

/**
 * Trusts the configured proxies. On a socket file, it also trusts every peer: a peer has no address there, and only processes with
 * permission to open the file can connect.
 * @param onSocketFile whether the server listens on a socket file.
 */
export function trustedHops(transport: Transport, onSocketFile: () => boolean): TrustsHop {
  if (transport.kind !== "proxied") return () => false;
  const trusted = blockList(transport.proxies);
  return (address, hop) => {
    if (onSocketFile() && hop === 0) return true;
    // The address can be any text, because clients can send any X-Forwarded-For.
    return isIP(address ?? "") !== 0 && trusted.check(address ?? "", isIPv6(address ?? "") ? "ipv6" : "ipv4");
  };
}

function blockList(proxies: readonly string[]): BlockList {
  const list = new BlockList();
  for (const proxy of proxies) {
    const [address = "", prefix] = proxy.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}
