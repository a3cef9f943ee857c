/** A host name or address (IPv6 without brackets) and a port. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** Where a server listens. */
export type Address = HostPort | { readonly path: string };

/** How clients reach the service. Plain HTTP to a network is not possible without a trusted proxy. */
export type Transport =
  | { readonly kind: "https"; readonly certPath: string; readonly keyPath: string }
  /** Plain HTTP, only on a loopback address or a Unix socket. */
  | { readonly kind: "loopback" }
  /** Plain HTTP behind these proxies (addresses or CIDR), which forward the client's protocol. */
  | { readonly kind: "proxied"; readonly proxies: readonly string[] };
