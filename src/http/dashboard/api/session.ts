/** GET /session; needs no session. */
export interface Session {
  /** Null: not signed in. */
  readonly person: Person | null;
  /** Whether nobody can sign in yet: the one-time link of `assay serve` creates the first administrator. */
  readonly hasNoPeople: boolean;
  /** Label of the button; null: no OpenID Connect provider. */
  readonly provider: string | null;
  readonly version: string;
  /**
   * Path, on the service's machine, of the authority that set-up made for the service's certificate. Null if the service does not
   * use that certificate, or nobody is signed in.
   */
  readonly authority: string | null;
}

export interface Person {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  /** Administrators see and change everything, members only their own accounts. */
  readonly administrator: boolean;
  /** Accounts visible to the person, by name; for an administrator, all. */
  readonly accounts: readonly AccountRef[];
  /** Names of suspended accounts; empty for an administrator, because the page Settings lists them. */
  readonly suspended: readonly string[];
}

export interface AccountRef {
  readonly id: string;
  readonly name: string;
}

/** POST /session → Session; 401 for a wrong e-mail or password, 429 for too many attempts. DELETE /session → 204. */
export interface SignIn {
  readonly email: string;
  readonly password: string;
}

/**
 * POST /invitations/look → OneTimeLink: what a one-time link is for; 404 if it is used, expired or unknown. The token
 * is in the body, because proxies log paths.
 */
export interface LinkToken {
  readonly token: string;
}

/** The link of the first administrator, of an invitation, or of a new password. */
export interface OneTimeLink {
  readonly kind: "first" | "invite" | "reset";
  /** Null: the person chooses. */
  readonly email: string | null;
  readonly account: string | null;
  readonly expiresAt: string;
}

/** POST /invitations/accept → Session: consumes the link and signs the person in. */
export interface Acceptance extends LinkToken {
  readonly email: string;
  readonly name: string;
  readonly password: string;
}

/** PATCH /me → Person. */
export interface MyChanges {
  readonly name?: string;
  readonly password?: { readonly current: string; readonly next: string };
}
