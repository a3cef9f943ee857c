import type { FastifyInstance } from "fastify";
import { isTerminal } from "../../domain/submission.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import { sendChanges } from "../responses/sse-state.ts";
import type { StreamBudget } from "../responses/stream-budget.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { stateOf } from "./judgement-detail.ts";
import { findOwn, JUDGEMENTS } from "./judgements.ts";
import { maySee, personOf } from "./session.ts";
import { noteReading } from "./submissions.ts";

/** GET /dashboard/api/judgements/:id/live: streams a judgement while it runs; see JudgementState. */
export function judgementLiveRoute(
  server: FastifyInstance,
  { store }: DashboardDependencies,
  answers: LongAnswers,
  streams: StreamBudget,
  stopping: AbortSignal,
): void {
  server.get(`${JUDGEMENTS}/:id/live`, { config: { session: "member" } }, async (request, reply) => {
    const found = await findOwn(store, request);
    const { id, account } = found;
    await noteReading(store, request, "judgement.read", found);
    streams.open(personOf(request).id, reply);
    return sendChanges(answers, request, reply, stopping, {
      subscribe: (listener) => store.judgements.onChange(id, listener),
      /** A session can end, and a person can lose an account, while a stream is open. */
      isAllowed: async () => {
        const person = await store.sessions.find(request.sessionHash ?? "");
        return person !== undefined && maySee(person, account.id);
      },
      read: async () => {
        const judgement = await store.judgements.get(id, account.id);
        return judgement && { isLast: isTerminal(judgement.status), value: stateOf(found, judgement) };
      },
    });
  });
}
