import { randomUUID } from "node:crypto";
import { newToken } from "../../../src/domain/session.ts";
import type { Ask, Reply, Running } from "../running.ts";

export interface SignedInPerson {
  readonly id: string;
  readonly email: string;
  readonly cookie: string;
  /** As the person's browser asks from a page of the service. */
  readonly ask: (ask: Ask) => Promise<Reply>;
}

/** What a browser sends with a request that a page of the service makes. */
export const FROM_OWN_PAGE = { "sec-fetch-site": "same-origin" };

/**
 * A person with a session; an administrator, or a member of these accounts, by id. No password: hashing one takes a ninth of a
 * second, and what it is good for is shown in sign-in.test.ts.
 */
export async function signedIn(
  { store, ask, clock }: Pick<Running, "store" | "ask" | "clock">,
  email: string,
  who: "administrator" | readonly string[],
): Promise<SignedInPerson> {
  const invitation = newToken();
  const administrator = who === "administrator";
  const link = { id: randomUUID(), hash: invitation.hash, expiresAtMs: clock.nowMs + 1_000 };
  await store.invitations.add(link, { kind: "invite", email, accountId: null, administrator }, "test");
  const chosen = { email, name: email.split("@")[0] ?? "", password: "none" };
  const id = (await store.invitations.accept(invitation.hash, chosen)) ?? "";
  if (who !== "administrator") await store.people.update(id, { accountIds: who }, "test");
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
