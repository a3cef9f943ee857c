/** An error that an operator can correct. The command line prints its message, which is one sentence, without a stack. */
export class OperatorError extends Error {}
