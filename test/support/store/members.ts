import type { Store } from "../../../src/store/store.ts";

/** Adds a person by invitation: an administrator, or a member of these accounts. @returns the person's id. */
export async function addPerson(
  store: Store,
  email: string,
  who: "administrator" | readonly string[] = "administrator",
): Promise<string> {
  const administrator = who === "administrator";
  const link = { id: `link of ${email}`, hash: `link of ${email}`, lastsMs: 1_000 };
  await store.invitations.add(link, { kind: "invite", email, accountId: null, administrator }, "test");
  const chosen = { email, name: email.split("@")[0] ?? "", password: `password of ${email}` };
  const id = (await store.invitations.accept(link.hash, chosen)) ?? "";
  if (who !== "administrator") await store.people.update(id, { accountIds: who }, "test");
  return id;
}

/** Begins a session of that person. @returns its hash. */
export async function addSession(store: Store, personId: string, hash: string): Promise<string> {
  await store.sessions.begin(hash, personId);
  return hash;
}
