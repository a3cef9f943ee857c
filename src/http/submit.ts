import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { clientError, echo } from "../domain/error.ts";
import { NO_METER } from "../domain/meter.ts";
import { toRecord } from "../domain/record.ts";
import { isTerminal, newSubmission, programOf, requestHash, type Submission } from "../domain/submission.ts";
import type { Enqueued } from "../store/port.ts";
import { callerOf } from "./caller.ts";
import type { Dependencies } from "./dependencies.ts";
import { toSubmitRequest } from "./request.ts";

/** A full queue of short programs has room again within this. */
const FULL_RETRY_SECS = 1;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** POST /api/submit: accept, and with `wait=true` hold the connection until the end of the run. */
export function submitRoute(server: FastifyInstance, dependencies: Dependencies, ended: AbortSignal): void {
  server.post("/api/submit", async (request, reply) => {
    const wait = readWait(request.query);
    const accepted = await accept(request, dependencies);
    if (!wait) return sendAccepted(reply, accepted);
    const { id, accountId } = accepted.submission;
    const signal = AbortSignal.any([AbortSignal.timeout(dependencies.holdMs), disconnected(reply), ended]);
    const now = (await dependencies.store.submissions.whenTerminal(id, accountId, signal)) ?? accepted.submission;
    if (accepted.kind === "duplicate") return reply.code(202).send(toRecord(now));
    if (isTerminal(now.status)) return reply.send(toRecord(now));
    const fields = { id, status: now.status };
    if (ended.aborted) throw clientError("notFinishedAtStop", [], { fields });
    throw clientError("notFinished", [dependencies.holdMs / 1000], { fields });
  });
}

/** Accepted now, or before under the same idempotency key. */
type Accepted = Extract<Enqueued, { submission: Submission }>;

async function accept(request: FastifyRequest, dependencies: Dependencies): Promise<Accepted> {
  const caller = callerOf(request);
  const key = readIdempotencyKey(request.headers["idempotency-key"]);
  const { submit, refusal } = toSubmitRequest(request.body, caller, dependencies);
  if (refusal && key === undefined) throw refusal;
  const result = await dependencies.store.submissions.enqueue({
    submission: newSubmission(submit, caller, Date.now()),
    program: programOf(submit),
    idempotency: key === undefined ? null : { key, requestHash: requestHash(submit) },
    maxPending: dependencies.maxPending,
    onlyKnown: refusal !== null,
  });
  if (result.kind === "unknown") throw refusal ?? new Error("what was new was not accepted");
  if (result.kind === "conflict") throw clientError("idempotencyConflict", []);
  if (result.kind === "full")
    throw clientError("queueFull", [], { headers: { "retry-after": String(FULL_RETRY_SECS) } });
  const { id, language, profile } = result.submission;
  request.submissionId = id;
  if (result.kind === "enqueued") (dependencies.meter ?? NO_METER).count("accepted", { language, profile });
  return result;
}

function sendAccepted(reply: FastifyReply, accepted: Accepted): FastifyReply {
  const { submission } = accepted;
  reply.code(202).header("location", `/api/result/${submission.id}`);
  if (accepted.kind === "duplicate") return reply.send(toRecord(submission));
  return reply.send({ id: submission.id, status: submission.status, queue_depth: accepted.queueDepth });
}

function readWait(query: unknown): boolean {
  const { wait, ...others } = query as Record<string, unknown>;
  const unknown = Object.keys(others);
  if (unknown.length > 0) throw clientError("unknownQuery", [unknown.slice(0, 5).map(echo).join(", ")]);
  if (wait === undefined || wait === "false") return false;
  if (wait === "true") return true;
  throw clientError("badWait", [echo(String(wait))]);
}

function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== "string" || !UUID.test(header)) throw clientError("badIdempotencyKey", []);
  return header.toLowerCase();
}

/** Nobody reads it; without one, an error would be made at the end of every answer. */
const GONE = "the client went away";

/** Aborts when the client goes away: nobody is left to answer. The submission goes on. */
function disconnected(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once("close", () => controller.abort(GONE));
  return controller.signal;
}
