import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import type { Store } from "../../store/store.ts";
import { VERSION } from "../responses/version.ts";
import type { Person, Session, SignIn } from "./api/session.ts";
import { bodyOf } from "./parse.ts";
import type { Passwords } from "./passwords.ts";
import type { Provider } from "./provider.ts";
import type { SessionGuard, SignedIn } from "./session.ts";

const SESSION = "/dashboard/api/session";

/** The most bytes of a body of these routes. No valid body is longer, and the client is not authenticated yet. */
export const SIGN_IN_BODY_BYTES = 16_384;

/** The length of the e-mail address is limited, because the counts of attempts are kept in memory by address for a minute. */
const pair = z.strictObject({ email: z.string().max(254), password: z.string() }) satisfies z.ZodType<SignIn>;

/** What the routes for sign-in share. */
export interface SignInContext {
  readonly store: Store;
  readonly sessions: SessionGuard;
  readonly passwords: Passwords;
  /** Null if people can sign in only with passwords. */
  readonly provider: Provider | null;
  readonly ownAuthority: string | null;
}

/** /dashboard/api/session: returns the session of the request, signs in, and signs out. */
export function signInRoutes(server: FastifyInstance, context: SignInContext): void {
  const { sessions, passwords } = context;
  const config = { session: "none" } as const;

  server.get(SESSION, { config }, (request): Promise<Session> => sessionOf(context, request));

  server.post(SESSION, { config, bodyLimit: SIGN_IN_BODY_BYTES }, async (request, reply): Promise<Session> => {
    const { email, password } = bodyOf(request, pair);
    const personId = await passwords.findPerson(request, email.trim().toLowerCase(), password);
    if (personId === undefined) throw clientError("signInRefused", []);
    await sessions.begin(request, reply, personId);
    return await sessionOf(context, request);
  });

  server.delete(SESSION, { config }, async (request, reply) => {
    await sessions.end(request, reply);
    return reply.code(204).send();
  });
}

/** The response about the session of the request, which may have begun with this request. */
export async function sessionOf(
  { store, provider, ownAuthority }: SignInContext,
  { person }: FastifyRequest,
): Promise<Session> {
  return {
    person: person && (await describe(store, person)),
    hasNoPeople: person === null && !(await store.people.any()),
    provider: provider && `Sign in with ${provider.name}`,
    version: VERSION,
    authority: person && ownAuthority,
  };
}

export async function describe(store: Store, person: SignedIn): Promise<Person> {
  const { id, email, name, administrator, accountIds } = person;
  const all = await store.accounts.list(accountIds);
  const suspended = administrator ? [] : all.filter(({ suspendedAtMs }) => suspendedAtMs !== null);
  const accounts = all
    .map((account) => ({ id: account.id, name: account.name }))
    .sort((a, b) => a.name.localeCompare(b.name));
  return { id, email, name, administrator, accounts, suspended: suspended.map((account) => account.name).sort() };
}
