import type { FastifyInstance, FastifyRequest } from "fastify";
import { abortAfter } from "../../domain/abort-after.ts";
import { clientError } from "../../domain/error.ts";
import { toLongRecord } from "../../domain/record.ts";
import { isTerminal } from "../../domain/submission.ts";
import { callerOf, ownerOf } from "../access/caller.ts";
import type { Dependencies } from "../dependencies.ts";
import { disconnected } from "../responses/client-disconnect.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import { type Accepted, accept } from "./accept.ts";
import { readWait } from "./query.ts";
import { toSubmitRequest } from "./submit-request.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** POST /api/submit: accepts a program. With `wait=true`, it responds when the run has ended, or after `holdMs`. */
export function submitRoute(
  server: FastifyInstance,
  dependencies: Dependencies,
  answers: LongAnswers,
  ended: AbortSignal,
): void {
  const { submissions } = dependencies.store;
  server.post("/api/submit", async (request, reply) => {
    const wait = readWait(request.query);
    const accepted = await acceptFrom(request, dependencies);
    // The client can wait for half a minute, and the program is in the store by now.
    request.forgetBody?.();
    const known = accepted.kind === "duplicate";
    const { id, accountId, status } = accepted.submission;
    const owner = ownerOf(request);
    const admit = answers.admitFor(owner, request, reply);
    if (known || !wait) reply.code(202).header("location", `/api/result/${id}`);
    if (!wait && !known) return { id, status, queue_depth: accepted.queueDepth };
    const signal = abortAfter(dependencies.holdMs, disconnected(reply), ended);
    const read = wait
      ? submissions.whenTerminal(id, accountId, signal, admit, !known)
      : submissions.get(id, accountId, admit);
    const now = (await read) ?? accepted.submission;
    if (known || isTerminal(now.status)) return answers.send(owner, reply, toLongRecord(now));
    const fields = { id, status: now.status };
    if (ended.aborted) throw clientError("notFinishedAtStop", [], { fields });
    throw clientError("notFinished", [dependencies.holdMs / 1000], { fields });
  });
}

async function acceptFrom(request: FastifyRequest, dependencies: Dependencies): Promise<Accepted> {
  const caller = callerOf(request);
  const key = readIdempotencyKey(request.headers["idempotency-key"]);
  const valid = toSubmitRequest(request.body, caller, dependencies);
  const accepted = await accept(valid, caller, dependencies, { key, live: valid.live });
  request.submissionId = accepted.submission.id;
  return accepted;
}

/** @throws ClientError badIdempotencyKey. */
export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== "string" || !UUID.test(header)) throw clientError("badIdempotencyKey", []);
  return header.toLowerCase();
}
