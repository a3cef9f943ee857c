import { OperatorError } from "../domain/operator-error.ts";

/** An invalid request of a command or of the dashboard; the message is one sentence for the person who made it. */
export class AdminError extends OperatorError {
  override readonly name = "AdminError";
}
