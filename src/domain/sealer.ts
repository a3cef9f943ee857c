/** Encrypts webhook secrets, so that the database alone does not reveal them without the key file. */
export interface Sealer {
  /** @param id the id of the endpoint. A sealed secret cannot be opened for another endpoint. */
  seal(id: string, secret: string): Buffer;

  /** @throws if the secret was sealed with an unknown key or for another endpoint, or has been modified. */
  open(id: string, sealed: Buffer): string;
}

/** A sealer with several keys; the newest one seals. */
export interface KeyRing extends Sealer {
  /**
   * @returns the secret sealed with the newest key; null if `sealed` already is.
   * @throws as `open` does.
   */
  renew(id: string, sealed: Buffer): Buffer | null;

  /** @returns the id of the newest key. */
  newest(): Buffer;
}
