import { randomUUID } from "node:crypto";
import type { AuditActor } from "../domain/audit.ts";
import { LINK_MS, newToken } from "../domain/session.ts";
import type { NewInvitation, Person, PersonChanges } from "../store/people/port.ts";
import type { Store } from "../store/port.ts";
import { findAccount } from "./accounts.ts";
import { AdminError } from "./error.ts";
import { type ListedPart, partFor } from "./parts.ts";
import { checkLength } from "./password-rules.ts";
import { checkName, isName } from "./rules.ts";

/** What is not seen, or could end a header, a line or an address. */
const EMAIL = /^[^\s@\p{C}<>"(),:;\\[\]]{1,64}@[^\s@\p{C}<>"(),:;\\[\]]{1,189}$/u;

/** A one-time link, there this once. Its token stands behind the #, which no browser sends and no log has. */
export interface LinkView {
  readonly url: string;
  readonly expiresAt: string;
}

/** Where people reach the service, and who does this. */
export interface LinkRequest {
  /** `https://HOST:PORT`. */
  readonly origin: string;
  readonly actor: AuditActor;
}

export interface PersonView {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly administrator: boolean;
  /** By name. */
  readonly accounts: readonly string[];
  readonly signsInWith: readonly ("password" | "provider")[];
  readonly createdAt: string;
  readonly seenAt: string | null;
  readonly disabledAt: string | null;
}

/** A part of the people, newest first. @throws AdminError when there is no such account or person. */
export async function listPeople(store: Store, which: ListedPart = {}): Promise<PersonView[]> {
  const part = await partFor(store, which, async (id) => (await store.people.get(id))?.accounts.map((one) => one.id));
  return (await store.people.list(part)).map((person) => ({
    ...personView(person),
    accounts: person.accounts.map(({ name }) => name),
  }));
}

/** What everybody is told alike of a person. */
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

/** @returns the e-mail as it is compared. @throws AdminError when it is none. */
export function emailOf(text: string): string {
  const email = text.trim().toLowerCase();
  if (!EMAIL.test(email)) throw new AdminError(`${JSON.stringify(text.slice(0, 64))} is no e-mail address`);
  return email;
}

/** A name that somebody else wrote, if it is one; else what stands before the @. */
export function nameOr(text: unknown, email: string): string {
  const name = typeof text === "string" ? text.trim() : "";
  return isName(name) ? name : (email.split("@")[0] ?? email);
}

/** A link that makes the first administrator. @throws AdminError when there is somebody already. */
export async function firstLink(store: Store, asked: LinkRequest): Promise<LinkView> {
  const link = await makeLink(store, { kind: "first" }, asked);
  if (!link) {
    throw new AdminError(
      "somebody can sign in already: 'members invite EMAIL --administrator' makes another administrator, " +
        "'members reset EMAIL' lets one who is there choose a new password",
    );
  }
  return link;
}

export interface NewMember {
  readonly email: string;
  /** Name or id; undefined for an administrator of none. */
  readonly account?: string | undefined;
  readonly administrator: boolean;
}

/** A link by which somebody new gets in. @throws AdminError when the e-mail is none or somebody's, or there is no such account. */
export async function invite(store: Store, member: NewMember, asked: LinkRequest): Promise<LinkView> {
  const email = emailOf(member.email);
  const { account, administrator } = member;
  if (account === undefined && !administrator) {
    throw new AdminError("who is no administrator needs an account to be a member of");
  }
  const accountId = account === undefined ? null : (await findAccount(store, account)).id;
  const link = await makeLink(store, { kind: "invite", email, accountId, administrator }, asked);
  if (!link) throw new AdminError(`there is a person ${email} already: change what they may see instead`);
  return link;
}

/** A link by which somebody chooses a new password. @param which e-mail or id. @throws AdminError when nobody is that, or is disabled. */
export async function reset(store: Store, which: string, asked: LinkRequest): Promise<LinkView> {
  const { id, email } = await findPerson(store, which);
  const link = await makeLink(store, { kind: "reset", personId: id }, asked);
  if (!link) throw new AdminError(`${email} is disabled; enable them first`);
  return link;
}

/** @throws AdminError when nobody is that, there is no such account, or no administrator would be left. */
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
  if (done === "last") throw new AdminError(`${email} is the last administrator; make another one first`);
  return await findPerson(store, id);
}

/** @throws AdminError when nobody has that e-mail or id. */
export async function findPerson(store: Store, which: string): Promise<Person> {
  const person = await store.people.find(which.toLowerCase());
  if (!person) throw new AdminError(`there is no person ${which}`);
  return person;
}

/**
 * The choices of a person who uses a link. Of the password only the length is checked: checkPassword takes a core.
 * @returns e-mail and name as they are stored. @throws AdminError.
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

/** @returns undefined when the store says that nobody needs it. */
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
