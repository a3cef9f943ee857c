/** GET /first-steps[?account=ID] → FirstSteps: what a new user has done. */
export interface FirstSteps {
  readonly project: boolean;
  /** A key that a client can use. */
  readonly key: boolean;
  /** A submission with such a key. */
  readonly run: boolean;
  readonly endpoint: boolean;
}
