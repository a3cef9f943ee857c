/** The database cannot be used as it is; the message is for the operator and holds no password. */
export class StoreError extends Error {
  override readonly name: string = "StoreError";
}

/** The database does not answer now; the same call may succeed later. */
export class StoreUnavailable extends StoreError {
  override readonly name = "StoreUnavailable";

  constructor(reason: string) {
    super(`the database does not answer: ${reason}`);
  }
}
