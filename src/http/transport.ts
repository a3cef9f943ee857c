import { BlockList, isIPv6 } from "node:net";
import type { FastifyRequest } from "fastify";
import { clientError } from "../domain/error.ts";
import type { Transport } from "../domain/transport.ts";

/**
 * Behind a proxy, only a named one may speak to us, and only about a client that used HTTPS.
 * @returns a check to be made before anything else of a request; it throws httpsRequired.
 */
export function httpsCheck(transport: Transport): (request: FastifyRequest) => void {
  if (transport.kind !== "proxied") return () => {};
  const trusted = blockList(transport.proxies);
  return (request) => {
    const address = request.socket.remoteAddress ?? "";
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    const proto = request.headers["x-forwarded-proto"];
    if (!trusted.check(address, family) || proto !== "https") throw clientError("httpsRequired", []);
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
