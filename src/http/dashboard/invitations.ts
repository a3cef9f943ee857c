import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { checkChosen } from "../../admin/people.ts";
import { clientError } from "../../domain/error.ts";
import { hashToken, hasTokenForm } from "../../domain/session.ts";
import type * as stored from "../../store/people/types.ts";
import type { Acceptance, LinkToken, OneTimeLink, Session } from "./api/session.ts";
import { bodyOf } from "./parse.ts";
import { SIGN_IN_BODY_BYTES, type SignInContext, sessionOf } from "./sign-in.ts";

const INVITATIONS = "/dashboard/api/invitations";
const linkToken = z.strictObject({ token: z.string() }) satisfies z.ZodType<LinkToken>;
const acceptance = linkToken.extend({
  email: z.string(),
  name: z.string(),
  password: z.string(),
}) satisfies z.ZodType<Acceptance>;

/** /dashboard/api/invitations: what a one-time link is for, and its use. Tokens are sent only in bodies. */
export function invitationRoutes(server: FastifyInstance, context: SignInContext): void {
  const { sessions, passwords } = context;
  const options = { config: { session: "none" }, bodyLimit: SIGN_IN_BODY_BYTES } as const;
  const { invitations, people } = context.store;

  const find = async ({ token }: LinkToken): Promise<{ hash: string; found: stored.Invitation }> => {
    const hash = hasTokenForm(token) ? hashToken(token) : "";
    const found = hash === "" ? undefined : await invitations.find(hash);
    if (!found) throw clientError("linkInvalid", []);
    return { hash, found };
  };

  server.post(`${INVITATIONS}/look`, options, async (request): Promise<OneTimeLink> => {
    const { kind, email, account, expiresAtMs } = (await find(bodyOf(request, linkToken))).found;
    return { kind, email, account: account?.name ?? null, expiresAt: new Date(expiresAtMs).toISOString() };
  });

  server.post(`${INVITATIONS}/accept`, options, async (request, reply): Promise<Session> => {
    const asked = bodyOf(request, acceptance);
    const { hash, found } = await find(asked);
    const known = found.personId === null ? undefined : await people.get(found.personId);
    const person = checkChosen({
      email: found.email ?? asked.email,
      name: known?.name ?? asked.name,
      password: asked.password,
    });
    const password = await passwords.chooseByLink(request, hash, asked.password, person);
    const personId = await invitations.accept(hash, { ...person, password }, request.ip);
    if (personId === undefined) throw clientError("linkInvalid", []);
    await sessions.begin(request, reply, personId);
    return await sessionOf(context, request);
  });
}
