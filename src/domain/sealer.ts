/** Encrypts webhook secrets, so that the database alone does not reveal them without the key file. */
export interface Sealer {
  /** @param id the endpoint: a sealed secret cannot be opened for another endpoint. */
  seal(id: string, secret: string): Buffer;

  /** @throws if it was sealed with an unknown key or for another endpoint, or has been modified. */
  open(id: string, sealed: Buffer): string;
}

/** A sealer with several keys; the newest one seals. */
export interface KeyRing extends Sealer {
  /**
   * @returns the same secret sealed with the newest key; null if it already is.
   * @throws as `open` does.
   */
  renew(id: string, sealed: Buffer): Buffer | null;

  /** @returns the id of the newest key. */
  newest(): Buffer;
}
