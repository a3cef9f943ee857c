import { z } from "zod";
import { checkChosen } from "../../admin/people.ts";
import { clientError } from "../../domain/error.ts";
import { hashToken, hasTokenForm } from "../../domain/session.ts";
import type * as stored from "../../store/people/types.ts";
import type { Store } from "../../store/store.ts";
import type { Acceptance, LinkToken, OneTimeLink, Session } from "./api/session.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import { SIGN_IN_BODY_BYTES, sessionOf } from "./sign-in.ts";

const linkToken = z.strictObject({ token: z.string() }) satisfies z.ZodType<LinkToken>;
const acceptance = linkToken.extend({
  email: z.string(),
  name: z.string(),
  password: z.string(),
}) satisfies z.ZodType<Acceptance>;

/** /dashboard/api/invitations: what a one-time link is for, and its use. Tokens are sent only in bodies. */
export const invitationRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "post",
    path: "/invitations/look",
    session: "none",
    body: linkToken,
    bodyLimit: SIGN_IN_BODY_BYTES,
    handler:
      ({ dependencies: { store } }) =>
      async ({ body }): Promise<OneTimeLink> => {
        const { kind, email, account, expiresAtMs } = (await find(store, body)).found;
        return { kind, email, account: account?.name ?? null, expiresAt: new Date(expiresAtMs).toISOString() };
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/invitations/accept",
    session: "none",
    body: acceptance,
    bodyLimit: SIGN_IN_BODY_BYTES,
    handler:
      (services) =>
      async ({ request, reply, body: asked }): Promise<Session> => {
        const {
          dependencies: { store },
          sessions,
          passwords,
        } = services;
        const { hash, found } = await find(store, asked);
        const known = found.personId === null ? undefined : await store.people.get(found.personId);
        const person = checkChosen({
          email: found.email ?? asked.email,
          name: known?.name ?? asked.name,
          password: asked.password,
        });
        const password = await passwords.chooseByLink(request, hash, asked.password, person);
        const personId = await store.invitations.accept(hash, { ...person, password }, request.ip);
        if (personId === undefined) throw clientError("linkInvalid", []);
        await sessions.begin(request, reply, personId);
        return await sessionOf(services, request);
      },
  }),
];

/** Finds what an unused link is for. @throws ClientError linkInvalid. */
async function find(
  { invitations }: Store,
  { token }: LinkToken,
): Promise<{ readonly hash: string; readonly found: stored.Invitation }> {
  const hash = hasTokenForm(token) ? hashToken(token) : "";
  const found = hash === "" ? undefined : await invitations.find(hash);
  if (!found) throw clientError("linkInvalid", []);
  return { hash, found };
}
