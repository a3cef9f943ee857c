import { isTerminal } from "../../domain/submission.ts";
import { sendChanges } from "../responses/sse-state.ts";
import { stateOf } from "./judgement-detail.ts";
import { findOwn } from "./judgements.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import { maySee } from "./session.ts";
import { noteReading } from "./submissions.ts";

/** GET /dashboard/api/judgements/:id/live: streams a judgement while it runs; see JudgementState. */
export const judgementLiveRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/judgements/{id}/live",
    session: "member",
    handler:
      ({ dependencies: { store }, answers, streams, stopping }) =>
      async ({ request, reply, person }) => {
        const found = await findOwn(store, request);
        const { id, account } = found;
        await noteReading(store, request, "judgement.read", found);
        streams.open(person.id, reply);
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
      },
  }),
];
