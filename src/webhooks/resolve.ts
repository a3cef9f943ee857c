import { lookup, Resolver } from "node:dns/promises";

/** All addresses of a name. @throws when it has none or nobody answers. */
export type Resolve = (name: string, signal?: AbortSignal) => Promise<readonly string[]>;

const QUERY = { timeout: 2_500, tries: 2 };

/**
 * Asks the DNS. Not by the system's look-up: that one occupies one of the four threads of the
 * process for as long as a name server is silent, so a few slow names would stop every other
 * delivery; and it would answer from this machine's own list of names.
 * @param servers `ADDRESS:PORT`; those of the system unless given.
 */
export function dnsResolve(servers?: readonly string[]): Resolve {
  return async (name, signal) => {
    signal?.throwIfAborted();
    const resolver = new Resolver(QUERY);
    if (servers) resolver.setServers(servers);
    const cancel = () => resolver.cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
      const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
      const failure = answers.find((answer) => answer.status === "rejected");
      if (addresses.length === 0) throw failure?.reason ?? new Error(`${name} has no address`);
      return addresses;
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  };
}

export const resolvePublic: Resolve = dnsResolve();

/** What it means by definition; a machine without /etc/hosts may know it no more than any other name. */
const LOCALHOST = ["127.0.0.1", "::1"];

/** The system's look-up, for receivers that the operator named: they may be known to this machine alone. */
export const resolveLocal: Resolve = async (name) => {
  if (name === "localhost") return LOCALHOST;
  const addresses = await lookup(name, { all: true });
  return addresses.map(({ address }) => address);
};
