/** A request of an operator that cannot be done; the message is one sentence for them. */
export class AdminError extends Error {
  override readonly name = "AdminError";
}
