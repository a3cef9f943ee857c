import { isIPv6 } from "node:net";

/**
 * The network of an address, by which clients are limited. An IPv4 address is a network of its own. All IPv6 addresses with the same
 * first 64 bits are one network, because the holder of one of them usually has them all.
 */
export function network(address: string): string {
  if (!isIPv6(address) || address.startsWith("::")) return address;
  const [head = ""] = address.split("::");
  const groups = [...head.split(":"), "0", "0", "0", "0"].slice(0, 4);
  return `${groups.join(":")}::/64`;
}
