import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";

type Block = readonly [ipaddr.IPv6, number];

const block = (cidr: string): Block => ipaddr.IPv6.parseCIDR(cidr);

/** The range that IANA has allocated to IPv6 global unicast. Addresses outside of it are mapped, translated, local or reserved. */
const UNICAST6 = block("2000::/3");

/**
 * Ranges in 2000::/3 that are not public networks. The library knows some of them as well, but this list does not rely on the library.
 */
const NOT_GLOBAL6: readonly (readonly [Block, string])[] = [
  [block("2001::/23"), "reserved for protocols"], // includes Teredo, which carries IPv4
  [block("2001:db8::/32"), "for documentation"],
  [block("2002::/16"), "6to4, which carries an IPv4 address"],
  [block("3ffe::/16"), "of a former network"],
  [block("3fff::/20"), "for documentation"],
];

/** An ISATAP address can be in any network. Its last 64 bits are `0:5efe` or `200:5efe`, followed by an IPv4 address. */
const ISATAP = 0x5efe;

/** An address in a public range at which the host of an Azure virtual machine offers services to the machine. */
const AZURE_HOST = "168.63.129.16";

/**
 * The reason why this address is not allowed; null for a global unicast address of another machine.
 * @param address IPv4 or IPv6, from a DNS response or a URL.
 * @param own the addresses of this machine. They are not allowed, because a firewall does not protect the services of a machine from the
 * machine itself.
 */
export function whyNotGlobal(address: string, own: readonly string[] = ownAddresses()): string | null {
  if (isIP(address) === 0) return "not an address";
  const parsed = ipaddr.parse(address);
  const why = parsed.kind() === "ipv4" ? whyNotGlobal4(parsed as ipaddr.IPv4) : whyNotGlobal6(parsed as ipaddr.IPv6);
  const same = (other: string) => ipaddr.parse(other).toNormalizedString() === parsed.toNormalizedString();
  return why ?? (own.some(same) ? "this machine's own" : null);
}

/**
 * Why none of the addresses of a host may be used: the first one that is not allowed, in words; null if all of them are allowed. If one address of
 * a name is not allowed, none is used: such an address is a mistake or an attack, and it would be a matter of chance whether a connection uses it.
 * @param host a name, or the address itself. @param whyNot the check of one address.
 */
export function whyNotAllGlobal(
  host: string,
  addresses: readonly string[],
  whyNot: (address: string) => string | null = whyNotGlobal,
): string | null {
  for (const address of addresses) {
    const why = whyNot(address);
    if (why !== null)
      return `only public addresses are allowed: ${isIP(host) === 0 ? `${host}, ${address},` : address} is ${why}`;
  }
  return null;
}

function whyNotGlobal4(address: ipaddr.IPv4): string | null {
  if (address.toString() === AZURE_HOST) return "served by the host of a virtual machine";
  const range = address.range();
  return range === "unicast" ? null : range;
}

function whyNotGlobal6(address: ipaddr.IPv6): string | null {
  if (address.zoneId !== undefined) return "link-local";
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
