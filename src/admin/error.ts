import { OperatorError } from "../domain/operator-error.ts";

/** A request of a command or of the dashboard that is invalid. The message is one sentence for the person who made the request. */
export class AdminError extends OperatorError {
  override readonly name = "AdminError";
}
