/** GET /first-steps[?account=ID] → FirstSteps: which of the first steps have been taken in the account, or in all that the person may see. */
export interface FirstSteps {
  /** Whether there is a project. */
  readonly project: boolean;
  /** Whether there is an active key that a client can use, so not only that of the playground. */
  readonly key: boolean;
  /** Whether there is a submission with a key other than that of the playground. */
  readonly run: boolean;
  /** Whether there is an endpoint. */
  readonly endpoint: boolean;
}
