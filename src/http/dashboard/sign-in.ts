import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import type { Store } from "../../store/store.ts";
import { VERSION } from "../responses/version.ts";
import type { Person, Session, SignIn } from "./api/session.ts";
import { type DashboardRoute, type DashboardServices, dashboardRoute } from "./route.ts";
import type { SignedIn } from "./session.ts";

/** The most bytes of a body of these routes. No valid body is longer, and the client is not authenticated yet. */
export const SIGN_IN_BODY_BYTES = 16_384;

/** The length of the e-mail address is limited, because the counts of attempts are kept in memory by address for a minute. */
const pair = z.strictObject({ email: z.string().max(254), password: z.string() }) satisfies z.ZodType<SignIn>;

/** /dashboard/api/session: returns the session of the request, signs in, and signs out. */
export const signInRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/session",
    session: "none",
    handler:
      (services) =>
      async ({ request }): Promise<Session> =>
        sessionOf(services, request),
  }),
  dashboardRoute({
    method: "post",
    path: "/session",
    session: "none",
    body: pair,
    bodyLimit: SIGN_IN_BODY_BYTES,
    handler:
      (services) =>
      async ({ request, reply, body: { email, password } }): Promise<Session> => {
        const personId = await services.passwords.findPerson(request, email.trim().toLowerCase(), password);
        if (personId === undefined) throw clientError("signInRefused", []);
        await services.sessions.begin(request, reply, personId);
        return await sessionOf(services, request);
      },
  }),
  dashboardRoute({
    method: "delete",
    path: "/session",
    session: "none",
    handler:
      ({ sessions }) =>
      async ({ request, reply }) => {
        await sessions.end(request, reply);
        return reply.code(204).send();
      },
  }),
];

/** The response about the session of the request, which may have begun with this request. */
export async function sessionOf(
  { dependencies: { store, ownAuthority, sandboxes }, provider }: DashboardServices,
  { person }: FastifyRequest,
): Promise<Session> {
  return {
    person: person && (await describe(store, person)),
    hasNoPeople: person === null && !(await store.people.any()),
    provider: provider && `Sign in with ${provider.name}`,
    version: VERSION,
    authority: person && ownAuthority,
    hasSandboxes: person !== null && sandboxes.capacity !== null,
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
