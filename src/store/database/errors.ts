import { OperatorError } from "../../domain/operator-error.ts";

/** The database is unusable; the message is for the operator and has no password. */
export class StoreError extends OperatorError {
  override readonly name: string = "StoreError";
}

/** The database is unavailable; the same call may succeed later. */
export class StoreUnavailable extends StoreError {
  override readonly name = "StoreUnavailable";

  constructor(reason: string) {
    super(`the database does not respond: ${reason}`);
  }
}
