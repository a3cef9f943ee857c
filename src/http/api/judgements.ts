import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { abortAfter } from "../../domain/abort-after.ts";
import { clientError } from "../../domain/error.ts";
import { JUDGEMENT_VERDICTS, type Judgement } from "../../domain/judgement.ts";
import { toJudgementRecord, toJudgementSummary } from "../../domain/judgement-record.ts";
import { isTerminal } from "../../domain/submission.ts";
import { isStillValid } from "../access/auth.ts";
import { callerOf, ownerOf } from "../access/caller.ts";
import type { Dependencies } from "../dependencies.ts";
import { disconnected } from "../responses/client-disconnect.ts";
import type { LongAnswers } from "../responses/long-answers.ts";
import { sendChanges } from "../responses/sse-state.ts";
import { StreamBudget } from "../responses/stream-budget.ts";
import { addJudgement, rejudge } from "./accept-judgement.ts";
import { readWait } from "./query.ts";
import { listFields, parseList } from "./submissions.ts";
import { readIdempotencyKey } from "./submit.ts";

/** The most JSON values in the body of a judgement. They are enough for MAX_TESTS tests with all fields. */
export const MAX_JUDGEMENT_VALUES = 8_192;

/** The most streams of judgements that an account can have open at once. */
const MAX_WATCHED = 8;

/** Query of GET /api/judgements. */
export const judgementsQuery = z.strictObject({
  ...listFields,
  verdict: z.enum(JUDGEMENT_VERDICTS).optional(),
  problem: z.uuid("is not the id of a problem").toLowerCase().optional(),
});

/** The endpoints of judgements. An id of another account gets the same response as an unknown id. */
export function judgementRoutes(
  server: FastifyInstance,
  dependencies: Dependencies,
  answers: LongAnswers,
  stopping: AbortSignal,
): void {
  const { store } = dependencies;
  const { judgements } = store;

  /** @throws ClientError judgementNotFound. */
  const find = async (request: FastifyRequest): Promise<Judgement> => {
    const id = (request.params as { id: string }).id.toLowerCase();
    const judgement = await judgements.get(id, callerOf(request).accountId);
    if (!judgement) throw clientError("judgementNotFound", []);
    return judgement;
  };
  /** Waits for the end of the judgement, and responds with its record. @throws ClientError as endedJudgement() does. */
  const sendEnded = async (request: FastifyRequest, reply: FastifyReply, id: string) => {
    const ended = await endedJudgement(id, request, reply, dependencies, stopping);
    return answers.send(ownerOf(request), reply, toJudgementRecord(ended));
  };

  server.post("/api/judgements", { config: { values: MAX_JUDGEMENT_VALUES, large: true } }, async (request, reply) => {
    let wait: boolean;
    let id: string;
    try {
      wait = readWait(request.query);
      const key = readIdempotencyKey(request.headers["idempotency-key"]);
      const judging = { caller: callerOf(request), owner: ownerOf(request), key };
      id = await addJudgement(request.body, judging, dependencies, answers);
    } finally {
      request.forgetBody?.();
    }
    if (wait) return await sendEnded(request, reply, id);
    reply.code(202).header("location", `/api/judgements/${id}`);
    return { id, status: "pending" };
  });

  server.get("/api/judgements", async (request) => {
    const { problem, ...which } = parseList(judgementsQuery, request.query);
    const { accountId } = callerOf(request);
    const { found, next } = await judgements.search({ ...which, accountId, problemId: problem });
    return { judgements: found.map(toJudgementSummary), next: next === null ? null : String(next) };
  });

  server.get("/api/judgements/:id", async (request, reply) => {
    const wait = readWait(request.query);
    const judgement = await find(request);
    if (wait && !isTerminal(judgement.status)) return await sendEnded(request, reply, judgement.id);
    return answers.send(ownerOf(request), reply, toJudgementRecord(judgement));
  });

  server.post("/api/judgements/:id/cancel", { config: { bodyless: true } }, async (request, reply) => {
    const { id, accountId } = await find(request);
    await judgements.cancel(id, accountId);
    return answers.send(ownerOf(request), reply, toJudgementRecord(await find(request)));
  });

  server.post("/api/judgements/:id/rejudge", { config: { bodyless: true } }, async (request, reply) => {
    const { id } = await find(request);
    const accepted = await rejudge(id, { caller: callerOf(request) }, dependencies);
    if (accepted === undefined) throw clientError("judgementNotFound", []);
    reply.code(202).header("location", `/api/judgements/${accepted}`);
    return { id: accepted, status: "pending" };
  });

  const streams = new StreamBudget(MAX_WATCHED);
  server.get("/api/judgements/:id/events", async (request, reply) => {
    const { id, accountId } = await find(request);
    streams.open(accountId, reply);
    return sendChanges(answers, request, reply, stopping, {
      subscribe: (listener) => judgements.onChange(id, listener),
      isAllowed: () => isStillValid(request, store.keys),
      read: async () => {
        const judgement = await judgements.get(id, accountId);
        if (!judgement) return undefined;
        return { isLast: isTerminal(judgement.status), value: toJudgementRecord(judgement) };
      },
    });
  });
}

/**
 * Waits for the end of a judgement, for at most `dependencies.holdMs`.
 * @throws ClientError judgementNotFinished, or judgementNotFinishedAtStop if the service stops.
 */
export async function endedJudgement(
  id: string,
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: Dependencies,
  stopping: AbortSignal,
): Promise<Judgement> {
  const { holdMs } = dependencies;
  const signal = abortAfter(holdMs, disconnected(reply), stopping);
  const judgement = await whenJudged(dependencies, id, callerOf(request).accountId, signal);
  if (judgement && isTerminal(judgement.status)) return judgement;
  const fields = { id, status: judgement?.status ?? "pending" };
  if (stopping.aborted) throw clientError("judgementNotFinishedAtStop", [], { fields });
  throw clientError("judgementNotFinished", [holdMs / 1000], { fields });
}

/**
 * Resolves with the judgement once it has ended, or with its present state when `signal` aborts; with undefined if the account has no
 * judgement `id`.
 */
export async function whenJudged(
  { store: { judgements } }: Dependencies,
  id: string,
  accountId: string,
  signal: AbortSignal,
): Promise<Judgement | undefined> {
  let woken = Promise.withResolvers<void>();
  const wake = () => woken.resolve();
  // The subscription begins before the first read, and `woken` is renewed before each read, so that no end is missed.
  const unsubscribe = judgements.onEnd(id, wake);
  signal.addEventListener("abort", wake, { once: true });
  try {
    for (;;) {
      woken = Promise.withResolvers<void>();
      const judgement = await judgements.get(id, accountId);
      if (signal.aborted || !judgement || isTerminal(judgement.status)) return judgement;
      await woken.promise;
    }
  } finally {
    unsubscribe();
    signal.removeEventListener("abort", wake);
  }
}
