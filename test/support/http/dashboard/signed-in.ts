import { newToken } from "../../../../src/domain/session.ts";
import { addPerson } from "../../store/members.ts";
import type { Ask, Reply, Running } from "../running.ts";

export interface SignedInPerson {
  readonly id: string;
  readonly email: string;
  readonly cookie: string;
  /** Sends a request as the person's browser does from a page of the service. */
  readonly ask: (ask: Ask) => Promise<Reply>;
}

/** Headers that a browser sends with a request from a page of the service. */
export const FROM_OWN_PAGE = { "sec-fetch-site": "same-origin" };

/**
 * A person with a session: an administrator, or a member of these accounts, by id. No password is set, because hashing
 * one takes a ninth of a second; sign-in.test.ts covers passwords.
 */
export async function signedIn(
  { store, ask }: Pick<Running, "store" | "ask">,
  email: string,
  who: "administrator" | readonly string[],
): Promise<SignedInPerson> {
  const id = await addPerson(store, email, who);
  const { token, hash } = newToken();
  await store.sessions.begin(hash, id);
  const cookie = `__Host-assay=${token}`;
  return {
    id,
    email,
    cookie,
    ask: (asked) => ask({ key: null, ...asked, headers: { cookie, ...FROM_OWN_PAGE, ...asked.headers } }),
  };
}
