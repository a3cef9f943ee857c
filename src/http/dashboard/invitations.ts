import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { checkChosen } from "../../admin/people.ts";
import { clientError } from "../../domain/error.ts";
import { hashToken, hasTokenForm } from "../../domain/session.ts";
import type * as stored from "../../store/people-port.ts";
import type { Acceptance, Invitation, Session } from "./answers.ts";
import { bodyOf } from "./asked.ts";
import { type Door, SIGN_IN_BODY_BYTES, sessionOf } from "./sign-in.ts";

const ONE = "/dashboard/api/invitations/:token";
const acceptance = z.strictObject({
  email: z.string(),
  name: z.string(),
  password: z.string(),
}) satisfies z.ZodType<Acceptance>;

/** One-time links: what one is for, and using it up. */
export function invitationRoutes(server: FastifyInstance, door: Door): void {
  const { guard, passwords } = door;
  const config = { session: "none" } as const;
  const { invitations, people } = door.store;

  const find = async (request: FastifyRequest): Promise<{ hash: string; found: stored.Invitation }> => {
    const { token } = request.params as { token: string };
    const hash = hasTokenForm(token) ? hashToken(token) : "";
    const found = hash === "" ? undefined : await invitations.find(hash);
    if (!found) throw clientError("linkUseless", []);
    return { hash, found };
  };

  server.get(ONE, { config }, async (request): Promise<Invitation> => {
    const { kind, email, account, expiresAtMs } = (await find(request)).found;
    return { kind, email, account: account?.name ?? null, expiresAt: new Date(expiresAtMs).toISOString() };
  });

  server.post(ONE, { config, bodyLimit: SIGN_IN_BODY_BYTES }, async (request, reply): Promise<Session> => {
    const asked = bodyOf(request, acceptance);
    const { hash, found } = await find(request);
    const known = found.personId === null ? undefined : await people.get(found.personId);
    const { email, name } = checkChosen({
      email: found.email ?? asked.email,
      name: known?.name ?? asked.name,
      password: asked.password,
    });
    const password = await passwords.hash(asked.password);
    const personId = await invitations.accept(hash, { email, name, password });
    if (personId === undefined) throw clientError("linkUseless", []);
    await guard.begin(request, reply, personId);
    return await sessionOf(door, request);
  });
}
