import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { invite, personView, reset, updatePerson } from "../../admin/people.ts";
import { clientError } from "../../domain/error.ts";
import type * as stored from "../../store/people/types.ts";
import type { Store } from "../../store/store.ts";
import type { Invitations, Invited, MadeLink, Member, MemberChanges, Members, NewInvitation } from "./api/members.ts";
import { ownAccount } from "./authorize.ts";
import { listed, pageOf } from "./pagination.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import { actorOf, maySee, type SignedIn } from "./session.ts";

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
export const memberRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/members",
    session: "member",
    query: listed,
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, query }): Promise<Members> => {
        const found = await store.people.list(await partAsked(store, person, query));
        const { shown, next } = pageOf(found, query.limit);
        return { members: shown.map((one) => memberFor(person, one)), next };
      },
  }),
  dashboardRoute({
    method: "get",
    path: "/members/invitations",
    session: "member",
    query: listed,
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, query }): Promise<Invitations> => {
        const found = await store.invitations.list(await partAsked(store, person, query));
        const { shown, next } = pageOf(found, query.limit);
        return { invited: shown.flatMap(invitedOf), next };
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/members/invitations",
    session: "administrator",
    body: newInvitation,
    handler:
      ({ dependencies: { store } }) =>
      async ({ request, body: { email, accountId, administrator } }): Promise<MadeLink> => {
        return await invite(store, { email, account: accountId ?? undefined, administrator }, asked(request));
      },
  }),
  dashboardRoute({
    method: "delete",
    path: "/members/invitations/{id}",
    session: "administrator",
    handler:
      ({ dependencies: { store } }) =>
      async ({ reply, actor, path: { id } }) => {
        if (!(await store.invitations.withdraw(id, actor))) throw clientError("notFound", []);
        return reply.code(204).send();
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/members/{id}/reset",
    session: "administrator",
    handler:
      ({ dependencies: { store } }) =>
      async ({ request, path }): Promise<MadeLink> => {
        return await reset(store, (await known(store, path.id)).id, asked(request));
      },
  }),
  dashboardRoute({
    method: "patch",
    path: "/members/{id}",
    session: "administrator",
    body: memberChanges,
    handler:
      ({ dependencies: { store } }) =>
      async ({ person, actor, path, body: changes }): Promise<Member> => {
        const { id } = await known(store, path.id);
        return memberFor(person, await updatePerson(store, id, changes, actor));
      },
  }),
];

/** The part of a list that the query asks for, with one row more than the page shows, to detect whether there is a next page. */
async function partAsked(store: Store, person: SignedIn, { account, before, limit }: z.output<typeof listed>) {
  const accountIds = account === undefined ? person.accountIds : [(await ownAccount(store, person, account)).id];
  return { accountIds, after: before, max: limit + 1 };
}

/** @throws ClientError notFound. */
async function known(store: Store, id: string): Promise<stored.Person> {
  const person = await store.people.get(id);
  if (!person) throw clientError("notFound", []);
  return person;
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
