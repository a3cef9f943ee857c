import ipaddr from "ipaddr.js";

/*
 * Networks in the notation of CIDR, in one strict form. Whatever is written in another form is a mistake, because the form that somebody meant and the
 * form that a program reads can differ: 010.0.0.0/8 is the network 8.0.0.0/8 for some programs, and 10.0.0.0/8 for others.
 */

/** A network: the addresses from `first` to `last`, as numbers with 32 or 128 bits. */
export interface Cidr {
  /** The canonical notation, such as `203.0.113.0/24` or `2001:db8::/32`. */
  readonly text: string;
  readonly family: 4 | 6;
  readonly first: bigint;
  readonly last: bigint;
}

const DECIMAL4 = /^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/;
const MAPPED: readonly [bigint, bigint] = [0xffff_0000_0000n, 0xffff_ffff_ffffn];

/**
 * An address as a number.
 * @returns null if the text is not an address in decimal IPv4 or usual IPv6 notation, or if it has a zone. An IPv4-mapped address is one of IPv6.
 */
export function addressValue(text: string): { readonly family: 4 | 6; readonly value: bigint } | null {
  if (DECIMAL4.test(text)) {
    const bytes = text.split(".").map(Number);
    return bytes.some((byte) => byte > 255) ? null : { family: 4, value: numberOf(bytes) };
  }
  if (!/^[0-9a-fA-F:.]{2,45}$/.test(text) || !text.includes(":") || !ipaddr.IPv6.isValid(text)) return null;
  const dotted = text.slice(text.lastIndexOf(":") + 1);
  if (dotted.includes(".") && addressValue(dotted)?.family !== 4) return null;
  return { family: 6, value: numberOf(ipaddr.IPv6.parse(text).toByteArray()) };
}

/** Whether an address (in any notation of `addressValue`) is in one of these networks. */
export function isWithin(networks: readonly Cidr[], address: string): boolean {
  const parsed = addressValue(address);
  return parsed !== null && networks.some((network) => contains(network, parsed));
}

/** Whether each address of `inner` is in `outer`. */
export function covers(outer: Cidr, inner: Cidr): boolean {
  return outer.family === inner.family && outer.first <= inner.first && inner.last <= outer.last;
}

function contains({ family, first, last }: Cidr, address: { readonly family: 4 | 6; readonly value: bigint }): boolean {
  return family === address.family && first <= address.value && address.value <= last;
}

/**
 * Parses a network.
 * @returns the network, or in words why the text is not one: the end of a sentence that begins with the text.
 */
export function parseCidr(text: string): Cidr | string {
  const parts = /^([^/]{1,45})\/(0|[1-9]\d{0,2})$/.exec(text);
  if (!parts) return "is not a network such as 203.0.113.0/24 or 2001:db8::/32";
  const [, address = "", length] = parts;
  const parsed = addressValue(address);
  if (!parsed) return "does not begin with an IPv4 or IPv6 address in its usual notation";
  const bits = parsed.family === 4 ? 32 : 128;
  const prefix = Number(length);
  if (prefix > bits) return `has a prefix of more than ${bits} bits`;
  const size = 1n << BigInt(bits - prefix);
  const first = (parsed.value / size) * size;
  const last = first + size - 1n;
  if (parsed.family === 6 && first <= MAPPED[1] && last >= MAPPED[0])
    return "has IPv4-mapped addresses: write the IPv4 network";
  const canonical = `${addressText(parsed.family, first)}/${prefix}`;
  if (first !== parsed.value) return `has bits after its prefix: the network is ${canonical}`;
  return { text: canonical, family: parsed.family, first, last };
}

/**
 * Parses networks that are separated by commas.
 * @returns the networks, none for an empty text; or in words what is wrong.
 */
export function parseCidrList(text: string): readonly Cidr[] | string {
  if (text.trim() === "") return [];
  const networks: Cidr[] = [];
  for (const part of text.split(",").map((item) => item.trim())) {
    const network = parseCidr(part);
    if (typeof network === "string") return `${JSON.stringify(part)} ${network}`;
    networks.push(network);
  }
  return networks;
}

/** The canonical notation of an address. */
export function addressText(family: 4 | 6, value: bigint): string {
  const bytes = bytesOf(value, family === 4 ? 4 : 16);
  // RFC 5952, except that an IPv4 address within an IPv6 address is not written in decimal.
  return family === 4 ? bytes.join(".") : new ipaddr.IPv6(bytes).toRFC5952String();
}

/** The bytes of an address, the first one first. */
export function bytesOf(value: bigint, length: 4 | 16): number[] {
  return Array.from({ length }, (_, at) => Number((value >> BigInt(8 * (length - 1 - at))) & 0xffn));
}

export function numberOf(bytes: Iterable<number>): bigint {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return value;
}
