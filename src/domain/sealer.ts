/** Makes the secret of a webhook endpoint unreadable for whoever has the database and not the key file. */
export interface Sealer {
  /** @param id of the endpoint: what is sealed for one cannot be opened as another's. */
  seal(id: string, secret: string): Buffer;

  /** @throws when it was sealed with another key, for another endpoint, or was changed since. */
  open(id: string, sealed: Buffer): string;
}
