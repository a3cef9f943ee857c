import type { FastifyInstance } from "fastify";
import { MAX_CODE_BYTES, MAX_STDIN_BYTES } from "../../domain/submission.ts";
import { sendEvents } from "../api/sse-output.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import type { StreamBudget } from "../responses/stream-budget.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { maySee, personOf } from "./session.ts";
import { detailOf } from "./submission-detail.ts";
import { findOwn, noteReading, SUBMISSIONS } from "./submissions.ts";

/** GET /dashboard/api/submissions/:id/live: streams a submission while it runs; see LiveEvent. */
export function liveRoute(
  server: FastifyInstance,
  d: DashboardDependencies,
  answers: LongAnswers,
  streams: StreamBudget,
  stopping: AbortSignal,
): void {
  server.get(`${SUBMISSIONS}/:id/live`, { config: { session: "member" } }, async (request, reply) => {
    const found = await findOwn(d.store, request);
    await noteReading(d.store, request, "submission.read", found);
    streams.open(personOf(request).id, reply);
    const watched = {
      id: found.id,
      heartbeatMs: d.heartbeatMs,
      /** A session can end, and a person can lose an account, while a stream is open. */
      isAllowed: async () => {
        const person = await d.store.sessions.find(request.sessionHash ?? "");
        return person !== undefined && maySee(person, found.account.id);
      },
      ended: async (admit: (bytes: number) => Promise<void>) => {
        await admit(MAX_CODE_BYTES + MAX_STDIN_BYTES);
        const read = await d.store.submissionSearch.read(found.id, [found.account.id], admit);
        return read && (await detailOf(d, read));
      },
    };
    return sendEvents(d.store, answers, request, reply, watched, stopping);
  });
}
