import { addressText, bytesOf, isWithin, numberOf } from "../domain/egress/cidr.ts";
import { isWildcard, openLabels } from "../domain/egress/host.ts";
import { hostsFor, NAME_NETWORKS, type NetworkPolicy, notAllowed } from "../domain/egress/policy.ts";

/*
 * The addresses that stand for names inside of a sandbox. Each name that the policy allows has an IPv4 and an IPv6 address of its own, which nothing
 * outside of the sandbox has. So the address of a connection says which name the program meant, whatever the protocol.
 */

/** Names under wildcards that a sandbox may ask for. The sandbox chooses their labels, so each new one can carry information to a name server. */
const MAX_OPEN_LABELS = 3;
const MAX_NEW_PER_MINUTE = 60;
const MINUTE_MS = 60_000;
/** The most names of rules without a wildcard, and of those under wildcards. An address is never used for a second name. */
const MAX_NAMES = 4_096;
/** The first numbers of both networks are left for the sandbox itself, such as the address of its name server. */
const FIRST_NUMBER = 256;

/** The addresses for the name server in the configuration of a sandbox. It answers on every other address as well. */
export const NAME_SERVER = {
  v4: addressText(4, NAME_NETWORKS.v4.first + 53n),
  v6: addressText(6, NAME_NETWORKS.v6.first + 0x53n),
};

/** The addresses of one name, as bytes. */
export interface NameAddresses {
  readonly v4: readonly number[];
  readonly v6: readonly number[];
}

/** Whether an address stands for a name, or could. */
export function isNameAddress(address: string): boolean {
  return isWithin([NAME_NETWORKS.v4, NAME_NETWORKS.v6], address);
}

/** The names of one sandbox and their addresses, which stay the same as long as it lives. */
export class SandboxNames {
  readonly #numbers = new Map<string, number>();
  readonly #names: string[] = [];
  readonly #count = { exact: 0, open: 0 };
  /** When the last names under wildcards became known, the oldest first. */
  #newMs: number[] = [];
  readonly #now: () => number;

  /** @param now milliseconds on a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * The addresses of a name that the policy allows on some port. A name under a wildcard becomes known when it is first asked for.
   * @param name canonical. @returns the addresses, or why the name has none.
   */
  addressesOf(policy: NetworkPolicy, name: string): NameAddresses | { readonly refused: string } {
    const hosts = hostsFor(policy, name);
    if (hosts.length === 0) return { refused: notAllowed(name) };
    const known = this.#numbers.get(name);
    if (known !== undefined) return addresses(known);
    const refused = hosts.every(isWildcard) ? this.#whyNotOpen(name, hosts) : this.#whyNotExact(name);
    return refused === null ? addresses(this.#add(name)) : { refused };
  }

  /** The name for which an address stands; null if it stands for none. @param address the 16 bytes of the address; IPv4 as IPv4-mapped. */
  nameOf(address: Uint8Array): string | null {
    const value = numberOf(address);
    const v4 = value - 0xffff_0000_0000n;
    const number = v4 >= 0n && v4 <= 0xffff_ffffn ? v4 - NAME_NETWORKS.v4.first : value - NAME_NETWORKS.v6.first;
    return this.#names[Number(number) - FIRST_NUMBER] ?? null;
  }

  #whyNotExact(name: string): string | null {
    if (this.#count.exact >= MAX_NAMES) return `${name} has no address: this sandbox has used ${MAX_NAMES} names`;
    this.#count.exact++;
    return null;
  }

  #whyNotOpen(name: string, hosts: readonly string[]): string | null {
    const labels = Math.min(...hosts.map((host) => openLabels(host, name)));
    if (labels > MAX_OPEN_LABELS) return `${name} has more than ${MAX_OPEN_LABELS} labels below ${hosts[0]?.slice(2)}`;
    if (this.#count.open >= MAX_NAMES)
      return `${name} has no address: this sandbox has used ${MAX_NAMES} names under wildcards`;
    const now = this.#now();
    this.#newMs = this.#newMs.filter((ms) => ms > now - MINUTE_MS);
    if (this.#newMs.length >= MAX_NEW_PER_MINUTE)
      return `${name} has no address yet: this sandbox has used ${MAX_NEW_PER_MINUTE} new names under wildcards within a minute`;
    this.#newMs.push(now);
    this.#count.open++;
    return null;
  }

  #add(name: string): number {
    const number = FIRST_NUMBER + this.#names.push(name) - 1;
    this.#numbers.set(name, number);
    return number;
  }
}

function addresses(number: number): NameAddresses {
  return {
    v4: bytesOf(NAME_NETWORKS.v4.first + BigInt(number), 4),
    v6: bytesOf(NAME_NETWORKS.v6.first + BigInt(number), 16),
  };
}
