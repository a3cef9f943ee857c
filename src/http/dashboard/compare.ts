import { z } from "zod";
import { clientError } from "../../domain/error.ts";
import { isTerminal } from "../../domain/submission.ts";
import { compare } from "../../problems/compare.ts";
import { comparedExpectations } from "../../problems/expectations.ts";
import type { ComparedExpectations } from "./api/judgements.ts";
import { findOwn } from "./judgements.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import { noteReading } from "./submissions.ts";

const compared = z.strictObject({ path: z.string().max(200), expectations: comparedExpectations });

/** Compares the judgement of a submission from a package with what the package expects, as `assay problems verify` does. */
export const compareRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "post",
    path: "/judgements/{id}/compare",
    session: "member",
    body: compared,
    handler:
      ({ dependencies: { store }, answers: { eventLoop } }) =>
      async ({ request, owner, body: { path, expectations } }): Promise<ComparedExpectations> => {
        const found = await findOwn(store, request);
        await noteReading(store, request, "judgement.read", found);
        const judgement = await store.judgements.get(found.id, found.account.id);
        if (!judgement || !isTerminal(judgement.status)) throw clientError("notFound", []);
        const { runs, definition, status } = judgement;
        await eventLoop.turn(owner);
        const { slowestSecs, ...differences } = compare(path, expectations, runs, definition, null);
        const faults = [...differences.faults, ...differences.hints];
        // A cancelled run has no verdict, so the rules of the package format would not notice that it is missing.
        const ended =
          status === "error" && faults.length === 0 ? ["IE: it was cancelled, or the platform failed"] : faults;
        return { slowestMs: slowestSecs * 1e3, faults: ended };
      },
  }),
];
