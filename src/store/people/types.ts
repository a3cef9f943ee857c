import type { LinkKind } from "../../domain/session.ts";

/** A user of the dashboard. */
export interface Person {
  readonly id: string;
  /** Lower case, unique. */
  readonly email: string;
  readonly name: string;
  /** Whether the person sees and changes all accounts. */
  readonly administrator: boolean;
  /** The accounts of which the person is a member, ordered by name. */
  readonly accounts: readonly { readonly id: string; readonly name: string }[];
  readonly hasPassword: boolean;
  /** Whether the person has signed in with the provider, and has not reset the password since. */
  readonly hasProvider: boolean;
  readonly createdAtMs: number;
  readonly seenAtMs: number | null;
  readonly disabledAtMs: number | null;
}

/** The new values of a person; those that are undefined stay. */
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
  /** Null for the first administrator, who chooses an e-mail. */
  readonly email: string | null;
  /** The person whose password is reset; null for the other kinds. */
  readonly personId: string | null;
  /** The account of which the invited person becomes a member; null for none. */
  readonly account: { readonly id: string; readonly name: string } | null;
  /** Whether the invited person becomes an administrator. */
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

/** The person who has signed in and makes a request. */
export interface SessionPerson {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly administrator: boolean;
  /** The accounts of which the person is a member; null for an administrator, who sees all accounts. */
  readonly accountIds: readonly string[] | null;
}

/** Where a request comes from. */
export interface ClientAddress {
  /** The address of the client, as in the log: behind a trusted proxy, it is the one that the proxy states. */
  readonly address: string;
  /** The network of the address, by which sign-in attempts are counted. */
  readonly network: string;
}
