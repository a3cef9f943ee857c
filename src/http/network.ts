import { isIPv6 } from "node:net";

/** Who counts as one by address: whoever has one IPv6 address has its /64, so the first four groups are counted together. */
export function network(address: string): string {
  if (!isIPv6(address) || address.startsWith("::")) return address;
  const [head = ""] = address.split("::");
  const groups = [...head.split(":"), "0", "0", "0", "0"].slice(0, 4);
  return `${groups.join(":")}::/64`;
}
