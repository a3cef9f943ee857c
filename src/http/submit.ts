import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { clientError, echo } from "../domain/error.ts";
import { toRecord } from "../domain/record.ts";
import { isTerminal } from "../domain/submission.ts";
import { type Accepted, accept } from "./accept.ts";
import { callerOf } from "./caller.ts";
import type { Dependencies } from "./dependencies.ts";
import { toSubmitRequest } from "./request.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** POST /api/submit: accept, and with `wait=true` hold the connection until the end of the run. */
export function submitRoute(server: FastifyInstance, dependencies: Dependencies, ended: AbortSignal): void {
  server.post("/api/submit", async (request, reply) => {
    const wait = readWait(request.query);
    const accepted = await acceptFrom(request, dependencies);
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

async function acceptFrom(request: FastifyRequest, dependencies: Dependencies): Promise<Accepted> {
  const caller = callerOf(request);
  const key = readIdempotencyKey(request.headers["idempotency-key"]);
  const accepted = await accept(toSubmitRequest(request.body, caller, dependencies), caller, dependencies, { key });
  request.submissionId = accepted.submission.id;
  return accepted;
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
export function disconnected(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once("close", () => controller.abort(GONE));
  return controller.signal;
}
