import { sendEvents } from "../api/run-events.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import { maySee } from "./session.ts";
import { detailOf } from "./submission-detail.ts";
import { findOwn, noteReading } from "./submissions.ts";

/** GET /dashboard/api/submissions/:id/live: streams a submission while it runs; see LiveEvent. */
export const liveRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "get",
    path: "/submissions/{id}/live",
    session: "member",
    handler:
      ({ dependencies, answers, streams, stopping }) =>
      async ({ request, reply, person }) => {
        const found = await findOwn(dependencies.store, request);
        await noteReading(dependencies.store, request, "submission.read", found);
        streams.open(person.id, reply);
        const watched = {
          conversation: dependencies.conversations.of(found.id, found.account.id),
          heartbeatMs: dependencies.heartbeatMs,
          /** A session can end, and a person can lose an account, while a stream is open. */
          isAllowed: async () => {
            const person = await dependencies.store.sessions.find(request.sessionHash ?? "");
            return person !== undefined && maySee(person, found.account.id);
          },
          ended: async (admit: (bytes: number) => Promise<void>) => {
            const read = await dependencies.store.submissionSearch.read(found.id, [found.account.id], admit);
            // The detail of a run has its whole output.
            return read && { record: await detailOf(dependencies, read), output: null };
          },
        };
        return sendEvents(answers, request, reply, watched, stopping);
      },
  }),
];
