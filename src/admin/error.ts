import { OperatorError } from "../domain/operator-error.ts";

/** A request of an operator that cannot be done; the message is one sentence for them. */
export class AdminError extends OperatorError {
  override readonly name = "AdminError";
}
