import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { isPassword } from "../../admin/passwords.ts";
import { clientError } from "../../domain/error.ts";
import type { Store } from "../../store/port.ts";
import { VERSION } from "../version.ts";
import type { Person, Session } from "./answers.ts";
import { bodyOf } from "./asked.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import type { Guard, SignedIn } from "./session.ts";

const SESSION = "/dashboard/api/session";
const pair = z.strictObject({ email: z.string().max(254), password: z.string().max(1024) });

/** /dashboard/api/session: who is signed in, signing in and out. */
export function signInRoutes(server: FastifyInstance, { store }: DashboardDependencies, guard: Guard): void {
  const config = { session: "none" } as const;

  server.get(SESSION, { config }, (request): Promise<Session> => sessionOf(store, request));

  server.post(SESSION, { config }, async (request, reply): Promise<Session> => {
    const { email, password } = bodyOf(request, pair);
    const known = await store.people.passwordOf(email.trim().toLowerCase());
    if (!(await isPassword(password, known?.hash ?? null)) || !known) throw clientError("signInRefused", []);
    await guard.begin(request, reply, known.personId);
    return await sessionOf(store, request);
  });

  server.delete(SESSION, { config }, async (request, reply) => {
    await guard.end(request, reply);
    return reply.code(204).send();
  });
}

/** The answer about the request's own session. */
export async function sessionOf(store: Store, { person }: FastifyRequest): Promise<Session> {
  return {
    person: person && (await describe(store, person)),
    empty: person === null && !(await store.people.any()),
    provider: null,
    version: VERSION,
  };
}

async function describe(store: Store, { id, email, name, administrator, accountIds }: SignedIn): Promise<Person> {
  const accounts = (await store.accounts.list())
    .filter((account) => accountIds === null || accountIds.includes(account.id))
    .map((account) => ({ id: account.id, name: account.name }))
    .sort((a, b) => a.name.localeCompare(b.name));
  return { id, email, name, administrator, accounts };
}
