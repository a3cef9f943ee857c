import type { AuditActor } from "../domain/audit.ts";
import type { LinkKind } from "../domain/session.ts";
import type { Part } from "./admin-port.ts";

/** The part of the port (port.ts) about who signs in to the dashboard; changes are noted as in admin-port.ts. */

/** Somebody who may sign in. */
export interface Person {
  readonly id: string;
  /** Lower case, unique. */
  readonly email: string;
  readonly name: string;
  /** Sees and changes all accounts. */
  readonly administrator: boolean;
  /** Those that the person is a member of, by name. */
  readonly accounts: readonly { readonly id: string; readonly name: string }[];
  readonly hasPassword: boolean;
  /** Has signed in with the provider. */
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
  /** Whether there is anybody. */
  any(): Promise<boolean>;

  /** Disabled ones included. `accountIds`: members of one of these; a cursor of another person gives an empty part. */
  list(which?: Part): Promise<Person[]>;

  get(id: string): Promise<Person | undefined>;

  /** @param which id or e-mail, in lower case. */
  find(which: string): Promise<Person | undefined>;

  /** What a password is compared with; undefined for who is not there, is disabled or has none. */
  passwordOf(email: string): Promise<{ readonly personId: string; readonly hash: string } | undefined>;

  /**
   * Disabling ends all sessions of the person, and makes its links useless.
   * @returns "last" when nobody would be left who is an administrator and not disabled; then nothing is changed.
   */
  update(id: string, changes: PersonChanges, actor: AuditActor): Promise<"updated" | "unknown" | "last">;

  /** Sets a password that the person has chosen; all sessions but that one end. @returns false for who is not there. */
  setPassword(id: string, hash: string, keepSession: string | null, actor: AuditActor): Promise<boolean>;

  /** The same password, hashed anew: nothing has changed, so nothing is noted, and not if it was changed meanwhile. */
  rehash(id: string, from: string, to: string): Promise<void>;

  /**
   * Who comes from the provider with that verified e-mail: a person who is there, or one who was invited, whose invitation
   * is used up by it. The first time, the subject is noted; afterwards that person is the subject's alone.
   * @param address of the client, for the audit trail. @returns the person's id; undefined for everybody else.
   */
  enterWithProvider(
    who: { email: string; name: string; subject: string },
    address?: string | null,
  ): Promise<string | undefined>;
}

/** A one-time link. Of its token, only the hash is stored. */
export interface Invitation {
  readonly id: string;
  readonly kind: LinkKind;
  /** Null for the first administrator. */
  readonly email: string | null;
  /** Whose password is reset. */
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
   * Replaces one of the same kind for the same person, and a first one any other first one.
   * @returns when it expires; undefined when there is somebody already (`first`: anybody; `invite`: of that e-mail), or
   * nobody who is not disabled (`reset`).
   */
  add(
    link: { readonly id: string; readonly hash: string; readonly lastsMs: number },
    what: NewInvitation,
    actor: AuditActor,
  ): Promise<number | undefined>;

  /** One that can be used now. */
  find(hash: string): Promise<Invitation | undefined>;

  /** Those that can be used now, except of the first administrator. */
  list(which?: Part): Promise<Invitation[]>;

  /** @returns false when there is none. */
  withdraw(id: string, actor: AuditActor): Promise<boolean>;

  /**
   * Uses it up: makes the person, or sets the new password and ends the person's sessions.
   * @param chosen the e-mail counts for the first administrator alone, the name for all but a reset.
   * @param address of the client, for the audit trail.
   * @returns the person's id; undefined when it cannot be used any more, or somebody has that e-mail by now.
   */
  accept(
    hash: string,
    chosen: { email: string; name: string; password: string },
    address?: string | null,
  ): Promise<string | undefined>;

  /** Removes those that have expired. To be called now and then. */
  forget(): Promise<void>;
}

/** Who is signed in, as every request needs it. */
export interface SessionPerson {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly administrator: boolean;
  /** Null: all of them. */
  readonly accountIds: readonly string[] | null;
}

export interface SessionStore {
  /**
   * Notes the sign-in, and that the person has signed in from that place.
   * @param hash of the token in the cookie. @param from where the person is; null where that is not known.
   */
  begin(hash: string, personId: string, from?: From | null): Promise<void>;

  /** Whose session it is, unless it has expired or the person is disabled. Notes that it is used, once a minute. */
  find(hash: string): Promise<SessionPerson | undefined>;

  /** Notes the sign-out. @param address of the person. */
  end(hash: string, address?: string | null): Promise<void>;

  /** Removes those that have expired. To be called now and then. */
  forget(): Promise<void>;
}

/** From where somebody comes. */
export interface From {
  /** As the log names it: behind a trusted proxy the client's. */
  readonly address: string;
  /** The network of that address, by which attempts are counted. */
  readonly place: string;
}

/** Attempts to sign in, as all processes of the database count them. */
export interface SignInStore {
  /** Whether the person of that e-mail has signed in from that place in the last 90 days. Takes no lock. */
  isKnown(attempt: { readonly place: string; readonly email: string }): Promise<boolean>;

  /**
   * Counts an attempt, unless there were too many in the last minute.
   * @param limits attempts in any minute: of one place at one e-mail, of one place, and at one e-mail from any place (null: no
   * limit, for a place that is known of its person, because strangers can use this limit up).
   * @returns 0, or the seconds after which there is room.
   */
  take(
    attempt: { readonly place: string; readonly email: string },
    limits: { readonly both: number; readonly place: number; readonly email: number | null },
  ): Promise<number>;

  /**
   * Notes that an attempt was wrong, in the entry of the hour: one for each place at each person, ten at most, and one for
   * all other places. E-mails that belong to nobody share one person, "unknown".
   */
  refused(attempt: { readonly place: string; readonly email: string }): Promise<void>;

  /** Removes what no longer counts, and old entries about signing in. To be called now and then. */
  forget(): Promise<void>;
}
