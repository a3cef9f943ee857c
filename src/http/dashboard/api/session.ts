/** GET /session → Session. The request needs no session. */
export interface Session {
  /** Null if nobody is signed in. */
  readonly person: Person | null;
  /** Whether there is no person yet, so that nobody can sign in. The one-time link of `assay serve` creates the first administrator. */
  readonly hasNoPeople: boolean;
  /** Label of the button to sign in with the OpenID Connect provider; null if no provider is configured. */
  readonly provider: string | null;
  readonly version: string;
  /**
   * Path, on the service's machine, of the file with the certificate authority that set-up made for the service. Null if the service
   * has no certificate of that authority, or nobody is signed in.
   */
  readonly authority: string | null;
  /** Whether this service has sandboxes. False if nobody is signed in. */
  readonly hasSandboxes: boolean;
}

export interface Person {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  /** Whether the person is an administrator, who sees and may change everything. Others see only what belongs to their accounts. */
  readonly administrator: boolean;
  /** Accounts visible to the person, by name; for an administrator, all. */
  readonly accounts: readonly AccountRef[];
  /** Names of those accounts that are suspended; empty for an administrator, because the page Settings lists them. */
  readonly suspended: readonly string[];
}

export interface AccountRef {
  readonly id: string;
  readonly name: string;
}

/**
 * POST /session (SignIn) → Session. The status is 401 for a wrong e-mail address or password, and 429 after too many attempts.
 * DELETE /session → 204: signs out.
 */
export interface SignIn {
  readonly email: string;
  readonly password: string;
}

/**
 * POST /invitations/look (LinkToken) → OneTimeLink: what a one-time link is for. The status is 404 if the link was used, has expired or is
 * unknown. The token is in the body, because proxies log paths.
 */
export interface LinkToken {
  readonly token: string;
}

/** A link for the first administrator (`first`), for an invited person (`invite`), or for a new password (`reset`). */
export interface OneTimeLink {
  readonly kind: "first" | "invite" | "reset";
  /** Null if the person chooses it. */
  readonly email: string | null;
  readonly account: string | null;
  readonly expiresAt: string;
}

/** POST /invitations/accept (Acceptance) → Session: consumes the link and signs the person in. */
export interface Acceptance extends LinkToken {
  readonly email: string;
  readonly name: string;
  readonly password: string;
}

/** PATCH /me (MyChanges) → Person. */
export interface MyChanges {
  readonly name?: string;
  readonly password?: { readonly current: string; readonly next: string };
}
