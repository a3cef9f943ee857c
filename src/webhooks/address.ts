import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";

type Block = readonly [ipaddr.IPv6, number];

const block = (cidr: string): Block => ipaddr.IPv6.parseCIDR(cidr);

/** All that IANA has given out for unicast in IPv6; what is not in it is mapped, translated, local or reserved. */
const UNICAST6 = block("2000::/3");

/** In 2000::/3, and yet not somebody's network. Some of it the library knows, too; none of it may depend on that. */
const NOT_GLOBAL6: readonly (readonly [Block, string])[] = [
  [block("2001::/23"), "set aside for protocols"], // Teredo, which carries IPv4, is in it
  [block("2001:db8::/32"), "for documentation"],
  [block("2002::/16"), "6to4, which carries an IPv4 address"],
  [block("3ffe::/16"), "of a network that is gone"],
  [block("3fff::/20"), "for documentation"],
];

/** ISATAP: `0:5efe` or `200:5efe` and then an IPv4 address, in any network. */
const ISATAP = 0x5efe;

/** Of the public range, but answered by the host of a virtual machine of Azure. */
const AZURE_HOST = "168.63.129.16";

/**
 * Why nothing may be sent to this address; null when it is global unicast, and not this machine's own.
 * @param address IPv4 or IPv6, as a look-up or a URL has it.
 * @param own this machine's addresses. Behind its own public address a machine meets its own services, past the firewall.
 */
export function whyNotGlobal(address: string, own: readonly string[] = ownAddresses()): string | null {
  if (isIP(address) === 0) return "not an address";
  const parsed = ipaddr.parse(address);
  const why = parsed.kind() === "ipv4" ? whyNotGlobal4(parsed as ipaddr.IPv4) : whyNotGlobal6(parsed as ipaddr.IPv6);
  const same = (other: string) => ipaddr.parse(other).toNormalizedString() === parsed.toNormalizedString();
  return why ?? (own.some(same) ? "this machine's own" : null);
}

function whyNotGlobal4(address: ipaddr.IPv4): string | null {
  if (address.toString() === AZURE_HOST) return "answered by the host of a virtual machine";
  const range = address.range();
  return range === "unicast" ? null : range;
}

function whyNotGlobal6(address: ipaddr.IPv6): string | null {
  if (address.zoneId !== undefined) return "of one link";
  const range = address.range();
  if (range !== "unicast") return range;
  if (!address.match(UNICAST6[0], UNICAST6[1])) return "not global unicast";
  const known = NOT_GLOBAL6.find(([[network, bits]]) => address.match(network, bits));
  if (known) return known[1];
  const [, , , , fifth, sixth] = address.parts;
  if (sixth === ISATAP && (fifth === 0 || fifth === 0x200)) return "ISATAP, which carries an IPv4 address";
  return null;
}

function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
}
