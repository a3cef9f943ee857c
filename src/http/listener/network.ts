import { isIPv6 } from "node:net";

/**
 * The unit for limits by address. The holder of one IPv6 address usually has its /64, so its first four groups count as
 * one.
 */
export function network(address: string): string {
  if (!isIPv6(address) || address.startsWith("::")) return address;
  const [head = ""] = address.split("::");
  const groups = [...head.split(":"), "0", "0", "0", "0"].slice(0, 4);
  return `${groups.join(":")}::/64`;
}
