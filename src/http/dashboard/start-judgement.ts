import type { FastifyInstance } from "fastify";
import { clientError } from "../../domain/error.ts";
import { ownerOf } from "../access/caller.ts";
import { addJudgement, rejudge } from "../api/accept-judgement.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import type { Cancelled } from "./api/judgements.ts";
import type { Accepted } from "./api/submissions.ts";
import { ownAccount } from "./authorize.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { findOwn, JUDGEMENTS } from "./judgements.ts";
import { bodyOf } from "./parse.ts";
import { chargePlayground, owned } from "./playground.ts";
import { actorOf, personOf } from "./session.ts";

/** Judges a program of the editor, repeats an earlier judgement, and cancels a judgement. */
export function judgingRoutes(server: FastifyInstance, d: DashboardDependencies, answers: LongAnswers): void {
  const config = { session: "member" } as const;
  const revoked = "playgroundClosed";

  server.post(
    JUDGEMENTS,
    { config: { ...config, bytes: ["code", "tests"] } },
    async (request, reply): Promise<Accepted> => {
      const { accountId, ...judged } = bodyOf(request, owned);
      await ownAccount(d.store, personOf(request), accountId);
      const caller = await chargePlayground(d, request, accountId);
      const id = await addJudgement(judged, { caller, owner: ownerOf(request), revoked }, d, answers);
      reply.code(202);
      return { id };
    },
  );

  server.post(`${JUDGEMENTS}/:id/rejudge`, { config }, async (request, reply): Promise<Accepted> => {
    const found = await findOwn(d.store, request);
    const caller = await chargePlayground(d, request, found.account.id);
    const id = await rejudge(found.id, { caller, revoked }, d);
    if (id === undefined) throw clientError("notFound", []);
    reply.code(202);
    return { id };
  });

  server.post(`${JUDGEMENTS}/:id/cancel`, { config }, async (request): Promise<Cancelled> => {
    const { id, account } = await findOwn(d.store, request);
    return { cancelled: await d.store.judgements.cancel(id, account.id, actorOf(request)) };
  });
}
