import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { invite, personView, reset, updatePerson } from "../../admin/people.ts";
import { clientError } from "../../domain/error.ts";
import type * as stored from "../../store/people/types.ts";
import type { Invitations, Invited, Link, Member, MemberChanges, Members, NewInvitation } from "./api/members.ts";
import { ownAccount } from "./authorize.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { listed, pageOf } from "./pages.ts";
import { bodyOf, queryOf } from "./parse.ts";
import { actorOf, maySee, personOf, type SignedIn } from "./session.ts";

const MEMBERS = "/dashboard/api/members";
const INVITATIONS = `${MEMBERS}/invitations`;

const newInvitation = z.strictObject({
  email: z.string(),
  accountId: z.string().nullable(),
  administrator: z.boolean(),
}) satisfies z.ZodType<NewInvitation>;
const memberChanges = z.strictObject({
  administrator: z.boolean().exactOptional(),
  disabled: z.boolean().exactOptional(),
  accountIds: z.array(z.string()).exactOptional(),
}) satisfies z.ZodType<MemberChanges>;

/** /dashboard/api/members: Members see the people in their accounts. Only administrators can invite and change people. */
export function memberRoutes(server: FastifyInstance, { store }: DashboardDependencies): void {
  const administrator = { config: { session: "administrator" } } as const;

  server.get(MEMBERS, { config: { session: "member" } }, async (request): Promise<Members> => {
    const { asked, limit } = await partAsked(request);
    const { shown, next } = pageOf(await store.people.list(asked), limit);
    return { members: shown.map((one) => memberFor(personOf(request), one)), next };
  });

  server.get(INVITATIONS, { config: { session: "member" } }, async (request): Promise<Invitations> => {
    const { asked, limit } = await partAsked(request);
    const { shown, next } = pageOf(await store.invitations.list(asked), limit);
    return { invited: shown.flatMap(invitedOf), next };
  });

  server.post(INVITATIONS, administrator, async (request): Promise<Link> => {
    const { email, accountId, administrator } = bodyOf(request, newInvitation);
    return await invite(store, { email, account: accountId ?? undefined, administrator }, asked(request));
  });

  server.delete(`${INVITATIONS}/:id`, administrator, async (request, reply) => {
    if (!(await store.invitations.withdraw(idOf(request), actorOf(request)))) throw clientError("notFound", []);
    return reply.code(204).send();
  });

  server.post(`${MEMBERS}/:id/reset`, administrator, async (request): Promise<Link> => {
    return await reset(store, (await known(idOf(request))).id, asked(request));
  });

  server.patch(`${MEMBERS}/:id`, administrator, async (request): Promise<Member> => {
    const person = personOf(request);
    const changes = bodyOf(request, memberChanges);
    const { id } = await known(idOf(request));
    return memberFor(person, await updatePerson(store, id, changes, actorOf(request)));
  });

  /** The part of a list that the request asks for, with one row more than the page shows, to detect whether there is a next page. */
  async function partAsked(request: FastifyRequest) {
    const person = personOf(request);
    const { account, before, limit } = queryOf(request, listed);
    const accountIds = account === undefined ? person.accountIds : [(await ownAccount(store, person, account)).id];
    return { asked: { accountIds, after: before, max: limit + 1 }, limit };
  }

  async function known(id: string): Promise<stored.Person> {
    const person = await store.people.get(id);
    if (!person) throw clientError("notFound", []);
    return person;
  }
}

function idOf(request: FastifyRequest): string {
  return (request.params as { id: string }).id;
}

/** A link gets the origin of the administrator's request. */
function asked(request: FastifyRequest) {
  return { origin: `${request.protocol}://${request.host}`, actor: actorOf(request) };
}

/** Converts a person, without the accounts that the viewer may not see. */
function memberFor(viewer: SignedIn, person: stored.Person): Member {
  return { ...personView(person), accounts: person.accounts.filter((account) => maySee(viewer, account.id)) };
}

function invitedOf({ id, email, kind, account, administrator, expiresAtMs }: stored.Invitation): Invited[] {
  if (kind === "first" || email === null) return [];
  return [
    { id, email, kind, account: account?.name ?? null, administrator, expiresAt: new Date(expiresAtMs).toISOString() },
  ];
}
