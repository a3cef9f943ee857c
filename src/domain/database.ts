/** The location of the store: a file on this machine, or a server that several machines share. */
export type DatabaseLocation =
  | { readonly kind: "sqlite"; readonly path: string }
  /** The URL can contain a password, so it is never logged and never part of an error. */
  | { readonly kind: "postgres"; readonly url: string };
