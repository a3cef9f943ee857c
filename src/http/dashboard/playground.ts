import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { playgroundCaller } from "../../admin/playground.ts";
import { toNetworkJson } from "../../domain/egress/policy.ts";
import { clientError } from "../../domain/error.ts";
import type { Caller } from "../../domain/submission.ts";
import { countRequests } from "../access/rate-limit.ts";
import { accept } from "../api/accept.ts";
import { toFields } from "../api/program-options.ts";
import { toSubmitRequest } from "../api/submit-request.ts";
import type { Accepted, Cancelled } from "./api/submissions.ts";
import { ownAccount } from "./authorize.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { type DashboardRoute, dashboardRoute } from "./route.ts";
import { actorOf } from "./session.ts";
import { findOwn, readOwn } from "./submissions.ts";

/** A request of the playground: the account, and the fields of a client's request, which are checked like those of a client. */
export const owned = z.looseObject({ accountId: z.string().min(1).max(100) });

/** Runs a program of the editor, runs the program of an earlier submission again, and cancels a submission. */
export const playgroundRoutes: readonly DashboardRoute[] = [
  dashboardRoute({
    method: "post",
    path: "/submissions",
    session: "member",
    body: owned,
    config: { bytes: ["code", "stdin"] },
    handler:
      ({ dependencies }) =>
      async ({ request, reply, person, body: { accountId, ...program } }): Promise<Accepted> => {
        await ownAccount(dependencies.store, person, accountId);
        reply.code(202);
        return await run(dependencies, request, accountId, program);
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/submissions/{id}/again",
    session: "member",
    handler:
      ({ dependencies, answers }) =>
      async ({ request, reply }): Promise<Accepted> => {
        const { found, program } = await readOwn(dependencies.store, answers, request, reply);
        const { id, language, profile, account, project } = found;
        const projectId =
          project && (await dependencies.store.projects.get(project.id))?.archivedAtMs === null ? project.id : null;
        reply.code(202);
        // Once: the page watches the output of one run.
        const network = await dependencies.store.submissions.network(id, account.id);
        const body = {
          language,
          profile,
          ...toFields(program),
          runs: 1,
          ...(network && { network: toNetworkJson(network.policy) }),
        };
        return await run(dependencies, request, account.id, body, { projectId, originalId: id });
      },
  }),
  dashboardRoute({
    method: "post",
    path: "/submissions/{id}/cancel",
    session: "member",
    handler:
      ({ dependencies }) =>
      async ({ request, actor }): Promise<Cancelled> => {
        const { id, account } = await findOwn(dependencies.store, request);
        return { cancelled: await dependencies.store.submissions.cancel(id, account.id, actor) };
      },
  }),
];

/** Returns the playground key of the account, and counts one request against its rate limit. @throws ClientError if the key may not be used. */
export async function chargePlayground(
  d: DashboardDependencies,
  request: FastifyRequest,
  accountId: string,
): Promise<Caller> {
  const caller = await playgroundCaller(d.store, accountId, actorOf(request));
  if (caller === "suspended") throw clientError("accountSuspended", []);
  if (caller === "closed") throw clientError("playgroundClosed", []);
  await countRequests(caller, d);
  await d.store.keys.touch(caller.keyId);
  return caller;
}

/** Submits the program with the playground key. The checks, rate limit and limits are those of a client with such a key. */
async function run(
  d: DashboardDependencies,
  request: FastifyRequest,
  accountId: string,
  program: unknown,
  { projectId = null, originalId }: { readonly projectId?: string | null; readonly originalId?: string } = {},
): Promise<Accepted> {
  const caller = { ...(await chargePlayground(d, request, accountId)), projectId };
  const valid = toSubmitRequest(program, caller, d, { mayHaveNetwork: true });
  const { submission } = await accept(valid, caller, d, {
    live: true,
    takesInput: valid.takesInput,
    originalId,
    revoked: "playgroundClosed",
  });
  request.submissionId = submission.id;
  return { id: submission.id };
}
