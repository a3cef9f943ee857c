import { randomUUID } from "node:crypto";
import type { AuditActor } from "../domain/audit.ts";
import { LINK_MS, newToken } from "../domain/session.ts";
import type { NewInvitation, Person, PersonChanges } from "../store/people/types.ts";
import type { Store } from "../store/store.ts";
import { findAccount } from "./accounts.ts";
import { AdminError } from "./error.ts";
import { type ListedPart, partFor } from "./pagination.ts";
import { checkLength } from "./password-rules.ts";
import { checkName, isName } from "./rules.ts";

/** An e-mail address has none of these: invisible characters, and characters that could end a header, a line or an address. */
const EMAIL = /^[^\s@\p{C}<>"(),:;\\[\]]{1,64}@[^\s@\p{C}<>"(),:;\\[\]]{1,189}$/u;

/** A one-time link, returned once. Its token is in the fragment, which browsers do not send and logs do not contain. */
export interface LinkView {
  readonly url: string;
  readonly expiresAt: string;
}

/** Who asks for a link, and the public address of the service with which the link begins. */
export interface LinkRequest {
  /** The public address, such as `https://HOST:PORT`. */
  readonly origin: string;
  readonly actor: AuditActor;
}

export interface PersonView {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly administrator: boolean;
  /** The names of the accounts of which the person is a member. */
  readonly accounts: readonly string[];
  readonly signsInWith: readonly ("password" | "provider")[];
  readonly createdAt: string;
  readonly seenAt: string | null;
  readonly disabledAt: string | null;
}

/** A page of people, newest first. @throws AdminError if the account or person is unknown. */
export async function listPeople(store: Store, which: ListedPart = {}): Promise<PersonView[]> {
  const part = await partFor(store, which, async (id) => (await store.people.get(id))?.accounts.map((one) => one.id));
  return (await store.people.list(part)).map((person) => ({
    ...personView(person),
    accounts: person.accounts.map(({ name }) => name),
  }));
}

/** A person for lists. */
export function personView(person: Person): Omit<PersonView, "accounts"> {
  const { id, email, name, administrator, createdAtMs, seenAtMs, disabledAtMs } = person;
  const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return {
    id,
    email,
    name,
    administrator,
    signsInWith: [
      ...(person.hasPassword ? (["password"] as const) : []),
      ...(person.hasProvider ? (["provider"] as const) : []),
    ],
    createdAt: new Date(createdAtMs).toISOString(),
    seenAt: iso(seenAtMs),
    disabledAt: iso(disabledAtMs),
  };
}

/** @returns the normalised address. @throws AdminError if it is invalid. */
export function emailOf(text: string): string {
  const email = text.trim().toLowerCase();
  if (!EMAIL.test(email)) throw new AdminError(`${JSON.stringify(text.slice(0, 64))} is not an e-mail address`);
  return email;
}

/** The given name if it is valid, or else the part before the @. */
export function nameOr(text: unknown, email: string): string {
  const name = typeof text === "string" ? text.trim() : "";
  return isName(name) ? name : (email.split("@")[0] ?? email);
}

/** Makes a link that creates the first administrator. @throws AdminError if any person exists. */
export async function firstLink(store: Store, asked: LinkRequest): Promise<LinkView> {
  const link = await makeLink(store, { kind: "first" }, asked);
  if (!link) {
    throw new AdminError(
      "a person can already sign in: 'members invite EMAIL --administrator' invites another administrator, " +
        "'members reset EMAIL' resets a password",
    );
  }
  return link;
}

export interface NewMember {
  readonly email: string;
  /** Name or id of the account of the new member; undefined for an administrator who is a member of none. */
  readonly account?: string | undefined;
  readonly administrator: boolean;
}

/**
 * Makes a link for a new person. @throws AdminError if the e-mail address is invalid or taken, the account is unknown, or a
 * member has no account.
 */
export async function invite(store: Store, member: NewMember, asked: LinkRequest): Promise<LinkView> {
  const email = emailOf(member.email);
  const { account, administrator } = member;
  if (account === undefined && !administrator) {
    throw new AdminError("a member needs an account");
  }
  const accountId = account === undefined ? null : (await findAccount(store, account)).id;
  const link = await makeLink(store, { kind: "invite", email, accountId, administrator }, asked);
  if (!link) throw new AdminError(`${email} is already a member: change their access instead`);
  return link;
}

/** Makes a link to set a new password. @param which e-mail address or id. @throws AdminError if the person is unknown or disabled. */
export async function reset(store: Store, which: string, asked: LinkRequest): Promise<LinkView> {
  const { id, email } = await findPerson(store, which);
  const link = await makeLink(store, { kind: "reset", personId: id }, asked);
  if (!link) throw new AdminError(`${email} is disabled; enable them first`);
  return link;
}

/**
 * Changes a person.
 * @param which e-mail address or id. @throws AdminError if the person or an account is unknown, the name is invalid, or no
 * administrator would be left.
 */
export async function updatePerson(
  store: Store,
  which: string,
  changes: PersonChanges,
  actor: AuditActor,
): Promise<Person> {
  if (changes.name !== undefined) checkName(changes.name);
  const { id, email } = await findPerson(store, which);
  const { accountIds } = changes;
  const accounts = accountIds && (await Promise.all(accountIds.map((account) => findAccount(store, account))));
  const done = await store.people.update(id, { ...changes, accountIds: accounts?.map((account) => account.id) }, actor);
  if (done === "last") throw new AdminError(`${email} is the last administrator; add another one first`);
  return await findPerson(store, id);
}

/** @throws AdminError if no person has that e-mail address or id. */
export async function findPerson(store: Store, which: string): Promise<Person> {
  const person = await store.people.find(which.toLowerCase());
  if (!person) throw new AdminError(`there is no person ${which}`);
  return person;
}

/**
 * Checks what a person entered on the page of a one-time link. Of the password, only the length is checked, because
 * checkPassword() takes much CPU time.
 * @returns the e-mail address and the name to store. @throws AdminError if one of the three is invalid.
 */
export function checkChosen(chosen: { readonly email: string; readonly name: string; readonly password: string }): {
  readonly email: string;
  readonly name: string;
} {
  const email = emailOf(chosen.email);
  const name = chosen.name.trim();
  checkName(name);
  checkLength(chosen.password);
  return { email, name };
}

/**
 * @returns undefined if no such link can be made: for `first` if any person exists, for `invite` if the e-mail address is
 * taken, for `reset` if there is no enabled person with this id.
 */
async function makeLink(
  store: Store,
  what: NewInvitation,
  { origin, actor }: LinkRequest,
): Promise<LinkView | undefined> {
  const { token, hash } = newToken();
  const expiresAtMs = await store.invitations.add({ id: randomUUID(), hash, lastsMs: LINK_MS[what.kind] }, what, actor);
  if (expiresAtMs === undefined) return undefined;
  return { url: `${origin}/dashboard/welcome#${token}`, expiresAt: new Date(expiresAtMs).toISOString() };
}
