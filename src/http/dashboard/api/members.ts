import type { AccountRef } from "./session.ts";

/**
 * GET /members[?account=ID][&before=NEXT&limit=100] → Members. Administrators get all people, members only the people in their own
 * accounts.
 */
export interface Members {
  readonly members: readonly Member[];
  readonly next: string | null;
}

/** GET /members/invitations[?account=ID][&before=NEXT&limit=100] → Invitations: the links that can still be used. */
export interface Invitations {
  readonly invited: readonly Invited[];
  readonly next: string | null;
}

export interface Member {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly administrator: boolean;
  readonly accounts: readonly AccountRef[];
  readonly signsInWith: readonly ("password" | "provider")[];
  readonly createdAt: string;
  readonly seenAt: string | null;
  readonly disabledAt: string | null;
}

export interface Invited {
  readonly id: string;
  readonly email: string;
  readonly kind: "invite" | "reset";
  readonly account: string | null;
  readonly administrator: boolean;
  readonly expiresAt: string;
}

/** POST /members/invitations (NewInvitation) → MadeLink. `accountId` may be null only if `administrator` is true. */
export interface NewInvitation {
  readonly email: string;
  readonly accountId: string | null;
  readonly administrator: boolean;
}

/** POST /members/:id/reset → MadeLink: a link for a new password. No later response contains the URL of a link. */
export interface MadeLink {
  readonly url: string;
  readonly expiresAt: string;
}

/** PATCH /members/:id (MemberChanges) → Member. DELETE /members/invitations/:id → 204. Only administrators may make these changes. */
export interface MemberChanges {
  readonly administrator?: boolean;
  readonly disabled?: boolean;
  readonly accountIds?: readonly string[];
}
