import type { LinkKind } from "../../domain/session.ts";

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

/** The signed-in person, for requests. */
export interface SessionPerson {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly administrator: boolean;
  /** Null for all. */
  readonly accountIds: readonly string[] | null;
}

/** The origin of a request. */
export interface ClientAddress {
  /** The address as in the log: behind a trusted proxy, that of the client. */
  readonly address: string;
  /** The network of the address, for the count of attempts. */
  readonly network: string;
}
