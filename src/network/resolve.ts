import { lookup, Resolver } from "node:dns/promises";

/** Resolves a name to all its addresses. @throws if the name has no address, or no name server responds. */
export type Resolve = (name: string, signal?: AbortSignal) => Promise<readonly string[]>;

const QUERY = { timeout: 2_500, tries: 2 };

/**
 * Queries DNS directly, without the system's getaddrinfo. While a name server does not respond, getaddrinfo occupies one of the four
 * threads of the process, so a few slow names would block all other work. It would also use the hosts file of this machine.
 * @param servers `ADDRESS:PORT`; the system's name servers by default.
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
      if (addresses.length === 0) throw inWords(name, failure?.reason);
      return addresses;
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  };
}

const NOT_FOUND = new Set(["ENOTFOUND", "ENODATA"]);

function inWords(name: string, cause: NodeJS.ErrnoException | undefined): Error {
  const { code = "ENODATA" } = cause ?? {};
  return new Error(NOT_FOUND.has(code) ? `DNS: ${name} not found` : `DNS: no answer for ${name} (${code})`, { cause });
}

export const resolvePublic: Resolve = dnsResolve();

/** The addresses of `localhost` by definition. A machine without /etc/hosts may be unable to resolve this name. */
const LOCALHOST = ["127.0.0.1", "::1"];

/** Uses getaddrinfo for hosts that the operator allowed, because only this machine may know their names. */
export const resolveLocal: Resolve = async (name) => {
  if (name === "localhost") return LOCALHOST;
  const addresses = await lookup(name, { all: true });
  return addresses.map(({ address }) => address);
};
