import type { Zone } from "./zone.ts";

/* What a test and the servers of the fake internet say to each other. */

/** A TCP connection that the fake internet got, with the address by which the client knows the server. */
export interface Seen {
  readonly address: string;
  readonly port: number;
  received: number;
  sent: number;
  isOpen: boolean;
}

/** A file that HTTP servers have, by the name of the host and the path. */
export interface Served {
  readonly type: string;
  /** In base64. */
  readonly body: string;
}

export type Command =
  | { readonly kind: "zone"; readonly zone: Zone }
  | { readonly kind: "files"; readonly files: Readonly<Record<string, Served>> }
  | { readonly kind: "seen" };

export interface Observed {
  readonly connections: readonly Seen[];
  /** Questions to the name server, as `NAME TYPE`. */
  readonly questions: readonly string[];
  /** Datagrams to port 443, which would be QUIC. */
  readonly quic: number;
  /** Heads of HTTP requests, as `METHOD HOST PATH`. */
  readonly requests: readonly string[];
}

/** How the process is started: files of its certificate, a git repository, and the socket behind port 5432. */
export interface ServersOptions {
  readonly key: string;
  readonly certificate: string;
  readonly repository: string;
  readonly postgres: { readonly host: string; readonly port: number } | string;
}

/** Ports besides those of HTTP, DNS and PostgreSQL, and what they do. `bulk` sends as many bytes as the first line says. */
export const PORTS = { smtp: 25, ssh: 22, echo: 7, sink: 9, bulk: 19, drip: 1_900, sctp: 9_899 } as const;
