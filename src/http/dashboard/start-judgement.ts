import { clientError } from "../../domain/error.ts";
import { addJudgement, rejudge } from "../api/accept-judgement.ts";
import type { Cancelled } from "./api/judgements.ts";
import type { Accepted } from "./api/submissions.ts";
import { ownAccount } from "./authorize.ts";
import { findOwn } from "./judgements.ts";
import { chargePlayground, owned } from "./playground.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";

/** The error if the playground's key is revoked while a request uses it. */
const revoked = "playgroundClosed";

/** Judges a program of the editor, repeats an earlier judgement, and cancels a judgement. */
export const judgingRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "post",
    path: "/judgements",
    session: "member",
    body: owned,
    config: { bytes: ["code", "tests"] },
    handler:
      ({ dependencies, answers }) =>
      async ({ request, reply, person, owner, body: { accountId, ...judged } }): Promise<Accepted> => {
        await ownAccount(dependencies.store, person, accountId);
        const caller = await chargePlayground(dependencies, request, accountId);
        const id = await addJudgement(judged, { caller, owner, revoked }, dependencies, answers);
        reply.code(202);
        return { id };
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/judgements/{id}/rejudge",
    session: "member",
    handler:
      ({ dependencies }) =>
      async ({ request, reply }): Promise<Accepted> => {
        const found = await findOwn(dependencies.store, request);
        const caller = await chargePlayground(dependencies, request, found.account.id);
        const id = await rejudge(found.id, { caller, revoked }, dependencies);
        if (id === undefined) throw clientError("notFound", []);
        reply.code(202);
        return { id };
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/judgements/{id}/cancel",
    session: "member",
    handler:
      ({ dependencies }) =>
      async ({ request, actor }): Promise<Cancelled> => {
        const { id, account } = await findOwn(dependencies.store, request);
        return { cancelled: await dependencies.store.judgements.cancel(id, account.id, actor) };
      },
  }),
];
