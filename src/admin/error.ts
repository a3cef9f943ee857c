import { OperatorError } from "../domain/operator-error.ts";

/** An invalid request of an operator; the message is one sentence for them. */
export class AdminError extends OperatorError {
  override readonly name = "AdminError";
}
