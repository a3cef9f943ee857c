import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { abortAfter } from "../../domain/abort-after.ts";
import { clientError } from "../../domain/error.ts";
import { isTerminal, type Submission } from "../../domain/submission.ts";
import { callerOf, ownerOf } from "../../http/access/caller.ts";
import { countRequests } from "../../http/access/rate-limit.ts";
import { accept } from "../../http/api/accept.ts";
import { toSubmitRequest } from "../../http/api/submit-request.ts";
import type { Dependencies } from "../../http/dependencies.ts";
import { disconnected } from "../../http/responses/client-disconnect.ts";
import { keepOpen } from "../../http/responses/keep-open.ts";
import type { LongAnswers } from "../../http/responses/long-answers.ts";
import type { ReserveMemory } from "../../store/submissions/types.ts";
import { moreRequests } from "../cost.ts";
import { pistonAnswer } from "./answer.ts";
import { MOST_WAITS, PISTON } from "./conventions.ts";
import { readProgram } from "./request.ts";

/** POST /piston/api/v2/execute: adds a submission, and responds when it has ended. */
export function executeRoute(
  server: FastifyInstance,
  dependencies: Dependencies,
  answers: LongAnswers,
  stopping: AbortSignal,
): void {
  server.post(`${PISTON}/execute`, { config: { large: true } }, async (request, reply) => {
    // Afterwards, the program is in the store, and the wait can be long.
    const { submission, runtime, language } = await acceptFrom(request, dependencies).finally(request.forgetBody);
    const owner = ownerOf(request);
    const admit = answers.admitFor(owner, request, reply);
    // The response needs twice the memory, because `output` repeats what stdout and stderr have.
    const now = await whenEnded(submission, dependencies, request, reply, (bytes) => admit(2 * bytes), stopping);
    return answers.send(owner, reply, pistonAnswer(now, language, runtime));
  });
}

async function acceptFrom(request: FastifyRequest, dependencies: Dependencies) {
  const caller = callerOf(request);
  const { runtime, language, fields, stdin } = readProgram(request.body, caller, dependencies);
  const valid = toSubmitRequest(fields, caller, dependencies, { input: stdin });
  const { files = [] } = valid.submit.options ?? {};
  const bytes = files.reduce((sum, { data }) => sum + data.length, valid.submit.code.length + stdin.length);
  await countRequests(caller, dependencies, { amount: moreRequests(bytes), counted: 1 });
  const { submission } = await accept(valid, caller, dependencies);
  request.submissionId = submission.id;
  return { submission, runtime, language };
}

/** Waits for the end of a submission. @throws ClientError with the id of the submission if it has not ended in time. */
async function whenEnded(
  { id, accountId, status }: Submission,
  { store, holdMs }: Dependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  admit: ReserveMemory,
  stopping: AbortSignal,
): Promise<Submission> {
  const abandoned = AbortSignal.any([disconnected(reply), stopping]);
  let now: Submission | undefined;
  for (let waits = 0; waits < MOST_WAITS && !abandoned.aborted; waits++) {
    const signal = abortAfter(holdMs, abandoned);
    now = await store.submissions.whenTerminal(id, accountId, signal, admit, waits === 0);
    if (now && isTerminal(now.status)) return now;
    if (!now) break; // deleted
    keepOpen(request);
  }
  const fields = { id, status: now?.status ?? status };
  if (stopping.aborted) throw clientError("notFinishedAtStop", [], { fields });
  throw clientError("notFinished", [(MOST_WAITS * holdMs) / 1000], { fields });
}
