import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { playgroundCaller } from "../../admin/playground.ts";
import { clientError } from "../../domain/error.ts";
import type { Caller } from "../../domain/submission.ts";
import { countRequests } from "../access/rate-limit.ts";
import { accept } from "../api/accept.ts";
import { toFields } from "../api/program-options.ts";
import { toSubmitRequest } from "../api/submit-request.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import type { Accepted, Cancelled } from "./api/submissions.ts";
import { ownAccount } from "./authorize.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { bodyOf } from "./parse.ts";
import { actorOf, personOf } from "./session.ts";
import { findOwn, readOwn, SUBMISSIONS } from "./submissions.ts";

/** A request of the playground: the account, and the fields of a client's request, which are checked like those of a client. */
export const owned = z.looseObject({ accountId: z.string().min(1).max(100) });

/** Runs a program of the editor, runs the program of an earlier submission again, and cancels a submission. */
export function playgroundRoutes(server: FastifyInstance, d: DashboardDependencies, answers: LongAnswers): void {
  const config = { session: "member", bytes: ["code", "stdin"] } as const;

  server.post(SUBMISSIONS, { config }, async (request, reply): Promise<Accepted> => {
    const { accountId, ...program } = bodyOf(request, owned);
    await ownAccount(d.store, personOf(request), accountId);
    reply.code(202);
    return await run(d, request, accountId, program);
  });

  server.post(`${SUBMISSIONS}/:id/again`, { config }, async (request, reply): Promise<Accepted> => {
    const { found, program } = await readOwn(d.store, answers, request, reply);
    const { id, language, profile, account, project } = found;
    const projectId = project && (await d.store.projects.get(project.id))?.archivedAtMs === null ? project.id : null;
    reply.code(202);
    const body = { language, profile, ...toFields(program) };
    return await run(d, request, account.id, body, { projectId, originalId: id });
  });

  server.post(`${SUBMISSIONS}/:id/cancel`, { config }, async (request): Promise<Cancelled> => {
    const { id, account } = await findOwn(d.store, request);
    return { cancelled: await d.store.submissions.cancel(id, account.id, actorOf(request)) };
  });
}

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
  const { submission } = await accept(toSubmitRequest(program, caller, d), caller, d, {
    live: true,
    originalId,
    revoked: "playgroundClosed",
  });
  request.submissionId = submission.id;
  return { id: submission.id };
}
