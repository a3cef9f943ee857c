import { BlockList, isIP, isIPv6 } from "node:net";
import type { FastifyRequest } from "fastify";
import { clientError } from "../domain/error.ts";
import type { Transport } from "../domain/transport.ts";

/** Whether this hop of a request, 0 for the one that is connected to us, is one of our proxies. */
export type TrustsHop = (address: string | undefined, hop: number) => boolean;

/**
 * Behind a proxy, only a named one may speak to us, and only about a client that used HTTPS.
 * @returns a check to be made before anything else of a request; it throws httpsRequired.
 */
export function httpsCheck(transport: Transport, trusts: TrustsHop): (request: FastifyRequest) => void {
  if (transport.kind !== "proxied") return () => {};
  return (request) => {
    const proto = request.headers["x-forwarded-proto"];
    if (!trusts(request.socket.remoteAddress, 0) || proto !== "https") throw clientError("httpsRequired", []);
  };
}

/**
 * Trusts the named proxies, and whoever is connected by a socket file: it has no address, and only who was given
 * the right to open the file can be.
 * @param onSocketFile whether it is a socket file that the server listens on.
 */
export function trustedHops(transport: Transport, onSocketFile: () => boolean): TrustsHop {
  if (transport.kind !== "proxied") return () => false;
  const trusted = blockList(transport.proxies);
  return (address, hop) => {
    if (onSocketFile() && hop === 0) return true;
    // What stands in X-Forwarded-For may be anything.
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
