/** A place on a network: a name or an address (IPv6 without brackets), and a port. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** Where a server listens. */
export type Address = HostPort | { readonly path: string };

/** How clients reach the service. There is no way to offer plain HTTP to a network by accident. */
export type Transport =
  | { readonly kind: "https"; readonly certPath: string; readonly keyPath: string }
  /** Plain HTTP, only on a loopback address. */
  | { readonly kind: "loopback" }
  /** Plain HTTP behind these proxies (addresses or CIDR), which say what the client used. */
  | { readonly kind: "proxied"; readonly proxies: readonly string[] };
