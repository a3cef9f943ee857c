import { OperatorError } from "../../domain/operator-error.ts";

/** The database cannot be used. The message is for the operator, and contains no password. */
export class StoreError extends OperatorError {
  override readonly name: string = "StoreError";
}

/** The database is unavailable. The call may succeed later. */
export class StoreUnavailable extends StoreError {
  override readonly name = "StoreUnavailable";

  constructor(reason: string) {
    super(`the database does not respond: ${reason}`);
  }
}
