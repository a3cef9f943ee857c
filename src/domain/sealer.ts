/** Makes the secret of a webhook endpoint unreadable for a reader of the database who lacks the key file. */
export interface Sealer {
  /** @param id of the endpoint: what is sealed for one cannot be opened as another's. */
  seal(id: string, secret: string): Buffer;

  /** @throws when it was sealed with an unknown key, for another endpoint, or was changed since. */
  open(id: string, sealed: Buffer): string;
}

/** A sealer that knows several keys; the newest one seals. */
export interface KeyRing extends Sealer {
  /**
   * @returns the same secret, sealed with the newest key; null when it is so already.
   * @throws as `open` does.
   */
  renew(id: string, sealed: Buffer): Buffer | null;

  /** @returns the id of the newest key. */
  newest(): Buffer;
}
