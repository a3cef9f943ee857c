import type { AuditActor } from "../../domain/audit.ts";
import type { LinkKind } from "../../domain/session.ts";
import type { Part } from "../access/port.ts";

/** The part of the store's interface (port.ts) for users of the dashboard; changes have audit entries as in access/port.ts. */

/** A user of the dashboard. */
export interface Person {
  readonly id: string;
  /** Lower case, unique. */
  readonly email: string;
  readonly name: string;
  /** Sees and changes all accounts. */
  readonly administrator: boolean;
  /** The accounts of which the person is a member, ordered by name. */
  readonly accounts: readonly { readonly id: string; readonly name: string }[];
  readonly hasPassword: boolean;
  /** Whether the person has signed in with the provider. */
  readonly hasProvider: boolean;
  readonly createdAtMs: number;
  readonly seenAtMs: number | null;
  readonly disabledAtMs: number | null;
}

export interface PersonChanges {
  readonly name?: string | undefined;
  readonly administrator?: boolean | undefined;
  readonly disabled?: boolean | undefined;
  readonly accountIds?: readonly string[] | undefined;
}

export interface PeopleStore {
  /** Whether any person exists. */
  any(): Promise<boolean>;

  /** Includes disabled persons. `accountIds`: only members of these accounts; a cursor of another person yields an empty part. */
  list(which?: Part): Promise<Person[]>;

  get(id: string): Promise<Person | undefined>;

  /** @param which the id, or the e-mail in lower case. */
  find(which: string): Promise<Person | undefined>;

  /** The password hash; undefined for a person who is unknown, is disabled or has no password. */
  passwordOf(email: string): Promise<{ readonly personId: string; readonly hash: string } | undefined>;

  /**
   * Changes a person. Disabling ends all sessions and invalidates all links of the person.
   * @returns "last", without changes, if no enabled administrator would be left.
   */
  update(id: string, changes: PersonChanges, actor: AuditActor): Promise<"updated" | "unknown" | "last">;

  /** Sets a password that the person has chosen and ends all other sessions. @returns false for an unknown person. */
  setPassword(id: string, hash: string, keepSession: string | null, actor: AuditActor): Promise<boolean>;

  /** Stores a new hash of the same password, without an audit entry. Does nothing if the password has been changed. */
  rehash(id: string, from: string, to: string): Promise<void>;

  /**
   * Finds the person with that verified e-mail from the provider, or creates an invited person and uses the invitation up.
   * The first sign-in stores the subject; afterwards, only that subject can sign in as the person.
   * @param address of the client, for the audit trail. @returns the id of the person; undefined without one.
   */
  enterWithProvider(
    who: { email: string; name: string; subject: string },
    address?: string | null,
  ): Promise<string | undefined>;
}

/** A one-time link. Only the hash of its token is stored. */
export interface Invitation {
  readonly id: string;
  readonly kind: LinkKind;
  /** Null for the first administrator. */
  readonly email: string | null;
  /** The person whose password is reset. */
  readonly personId: string | null;
  readonly account: { readonly id: string; readonly name: string } | null;
  readonly administrator: boolean;
  readonly expiresAtMs: number;
}

export type NewInvitation =
  | { readonly kind: "first" }
  | {
      readonly kind: "invite";
      readonly email: string;
      readonly accountId: string | null;
      readonly administrator: boolean;
    }
  | { readonly kind: "reset"; readonly personId: string };

export interface InvitationStore {
  /**
   * Adds an invitation. It replaces one of the same kind for the same person, and a `first` one replaces any other.
   * @returns its expiry; undefined if a person already exists (`first`: any; `invite`: with that e-mail), or if there is no
   * enabled person (`reset`).
   */
  add(
    link: { readonly id: string; readonly hash: string; readonly lastsMs: number },
    what: NewInvitation,
    actor: AuditActor,
  ): Promise<number | undefined>;

  /** The invitation, if it is valid now. */
  find(hash: string): Promise<Invitation | undefined>;

  /** All valid invitations, except that of the first administrator. */
  list(which?: Part): Promise<Invitation[]>;

  /** @returns false for an unknown invitation. */
  withdraw(id: string, actor: AuditActor): Promise<boolean>;

  /**
   * Uses an invitation up: creates the person, or sets the new password and ends the person's sessions.
   * @param chosen the e-mail is used only for the first administrator, the name for all kinds but a reset.
   * @param address of the client, for the audit trail.
   * @returns the id of the person; undefined if the invitation is no longer valid, or the e-mail is already in use.
   */
  accept(
    hash: string,
    chosen: { email: string; name: string; password: string },
    address?: string | null,
  ): Promise<string | undefined>;

  /** Removes those that have expired. To be called now and then. */
  forget(): Promise<void>;
}

/** The signed-in person, for requests. */
export interface SessionPerson {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly administrator: boolean;
  /** Null for all. */
  readonly accountIds: readonly string[] | null;
}

export interface SessionStore {
  /**
   * Adds a session with its audit entry, and stores the place of the sign-in.
   * @param hash of the token in the cookie. @param from the place of the person; null if unknown.
   */
  begin(hash: string, personId: string, from?: From | null): Promise<void>;

  /** The person of a valid session, unless disabled. Stores the time of use, at most once per minute. */
  find(hash: string): Promise<SessionPerson | undefined>;

  /** Ends the session, with an audit entry. @param address of the person. */
  end(hash: string, address?: string | null): Promise<void>;

  /** Removes those that have expired. To be called now and then. */
  forget(): Promise<void>;
}

/** The place of a client. */
export interface From {
  /** The address as in the log: behind a trusted proxy, that of the client. */
  readonly address: string;
  /** The network of the address, for the count of attempts. */
  readonly place: string;
}

/** Sign-in attempts, counted over all processes. */
export interface SignInStore {
  /** Whether the person with that e-mail has signed in from that place in the last 90 days. Takes no lock. */
  isKnown(attempt: { readonly place: string; readonly email: string }): Promise<boolean>;

  /**
   * Counts an attempt, unless there were too many in the last minute.
   * @param limits attempts per sliding minute: per place and e-mail, per place, and per e-mail from any place (null for no
   * limit, for a known place of the person, because unknown clients can use up this limit).
   * @returns 0, or the seconds until the next attempt is allowed.
   */
  take(
    attempt: { readonly place: string; readonly email: string },
    limits: { readonly both: number; readonly place: number; readonly email: number | null },
  ): Promise<number>;

  /**
   * Adds a failed attempt to the audit entry of the hour: one entry per place and person, at most ten, and one for all other
   * places. Unknown e-mails share the person "unknown".
   */
  refused(attempt: { readonly place: string; readonly email: string }): Promise<void>;

  /** Removes attempts that no longer count, and old sign-in entries. To be called periodically. */
  forget(): Promise<void>;
}
