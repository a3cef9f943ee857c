import { randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { clientError } from "../domain/error.ts";
import { JUDGEMENT_VERDICTS, type Judgement } from "../domain/judgement.ts";
import { toJudgementRecord, toJudgementSummary } from "../domain/judgement-record.ts";
import { type Caller, isTerminal } from "../domain/submission.ts";
import type { NewJudgement } from "../store/judgements/types.ts";
import { accept, queueFull, VersionGone } from "./accept.ts";
import { toFields } from "./additions.ts";
import { isStillValid } from "./auth.ts";
import { callerOf } from "./caller.ts";
import type { Dependencies } from "./dependencies.ts";
import { disconnected } from "./gone.ts";
import { checkTestLimits, toJudgementRequest } from "./judgement-request.ts";
import type { LongAnswers } from "./long-answers.ts";
import { ownerOf } from "./owner.ts";
import { countMore } from "./rate.ts";
import { toSubmitRequest, type ValidatedRequest } from "./request.ts";
import { Watching } from "./run-events.ts";
import { sendChanges } from "./state-events.ts";
import { listFields, parseList } from "./submissions.ts";
import { readIdempotencyKey } from "./submit.ts";
import { readWait } from "./wait.ts";

/** JSON values of a request: those of MAX_TESTS tests with all their fields. */
export const MAX_JUDGEMENT_VALUES = 8_192;

/** Judgements that an account can watch at once. */
const MAX_WATCHED = 8;

/** Query of GET /api/judgements. */
export const judgementsQuery = z.strictObject({ ...listFields, verdict: z.enum(JUDGEMENT_VERDICTS).optional() });

/** The endpoints of judgements. An id of another account gets the same response as an unknown id. */
export function judgementRoutes(
  server: FastifyInstance,
  dependencies: Dependencies,
  answers: LongAnswers,
  stopping: AbortSignal,
): void {
  const { store, holdMs } = dependencies;
  const { judgements } = store;
  const held = (reply: FastifyReply) => AbortSignal.any([AbortSignal.timeout(holdMs), disconnected(reply), stopping]);

  /** @throws ClientError judgementNotFound. */
  const find = async (request: FastifyRequest): Promise<Judgement> => {
    const id = (request.params as { id: string }).id.toLowerCase();
    const judgement = await judgements.get(id, callerOf(request).accountId);
    if (!judgement) throw clientError("judgementNotFound", []);
    return judgement;
  };
  /** Answers with the final record. @throws ClientError judgementNotFinished. */
  const sendEnded = async (request: FastifyRequest, reply: FastifyReply, id: string) => {
    const ended = await whenJudged(dependencies, id, callerOf(request).accountId, held(reply));
    if (ended && isTerminal(ended.status)) return answers.send(ownerOf(request), reply, toJudgementRecord(ended));
    const fields = { id, status: ended?.status ?? "pending" };
    throw clientError("judgementNotFinished", [holdMs / 1000], { fields });
  };

  server.post("/api/judgements", { config: { values: MAX_JUDGEMENT_VALUES, large: true } }, async (request, reply) => {
    let wait: boolean;
    let id: string;
    try {
      wait = readWait(request.query);
      const key = readIdempotencyKey(request.headers["idempotency-key"]);
      id = await addJudgement(request, request.body, dependencies, answers, key);
    } finally {
      request.forgetBody?.();
    }
    if (wait) return await sendEnded(request, reply, id);
    reply.code(202).header("location", `/api/judgements/${id}`);
    return { id, status: "pending" };
  });

  server.get("/api/judgements", async (request) => {
    const { before, max, ...which } = parseList(judgementsQuery, request.query);
    const { accountId } = callerOf(request);
    const { found, next } = await judgements.search({ ...which, accountId, before, max });
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
    const caller = callerOf(request);
    const again = await judgements.readForRejudge(id, caller.accountId);
    if (!again) throw clientError("judgementNotFound", []);
    const { program, versionSeq, stop, tests, language, profile, problem } = again;
    // The key may have other permissions than that of the first judgement.
    const valid = toSubmitRequest({ ...toFields(program), language, profile }, caller, dependencies);
    const judgement = { id: randomUUID(), stop, versionSeq, tests, problem };
    await countTests(request, tests, dependencies);
    await accept(valid, caller, dependencies, { judgement }).catch((error: unknown) => {
      throw error instanceof VersionGone ? clientError("judgementNotFound", []) : error;
    });
    reply.code(202).header("location", `/api/judgements/${judgement.id}`);
    return { id: judgement.id, status: "pending" };
  });

  const watching = new Watching(MAX_WATCHED);
  server.get("/api/judgements/:id/events", async (request, reply) => {
    const { id, accountId } = await find(request);
    watching.enter(accountId, reply);
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
 * Stores the tests, then the judgement with its first run. The caller then releases the body: a request can wait for half a minute.
 * @returns its id, or that of an earlier one with the same key.
 */
export async function addJudgement(
  request: FastifyRequest,
  body: unknown,
  dependencies: Dependencies,
  answers: LongAnswers,
  key?: string | undefined,
): Promise<string> {
  const caller = callerOf(request);
  const { accountId } = caller;
  const owner = ownerOf(request);
  const pause = () => answers.pace.turn(owner);
  const { program, stop, on } = await toJudgementRequest(body, caller, dependencies, pause);
  if (program.refusal && key === undefined) throw program.refusal;
  const { judgements, submissions } = dependencies.store;
  const put = async (): Promise<Omit<NewJudgement, "id" | "stop">> => {
    if ("problem" in on) return await versionOf(on, program, caller, dependencies);
    const versionSeq = await judgements.putVersion({ accountId, ...on }, pause);
    return { versionSeq, tests: on.contents.length, problem: null };
  };
  const tests = "problem" in on ? (await put()).tests : on.contents.length;
  await countTests(request, tests, dependencies);
  // Before its tests are stored.
  if ((await submissions.depth()) >= dependencies.maxPending) throw queueFull();
  // A problem can have another version when the request is repeated.
  const judgedOn = "problem" in on ? `${on.problem} ${on.version ?? "current"}` : undefined;
  for (let tries = 1; ; tries++) {
    const judgement = { id: randomUUID(), stop, ...(await put()) };
    try {
      const accepted = await accept(program, caller, dependencies, { key, judgement, judgedOn });
      if (accepted.kind === "enqueued") return judgement.id;
      // The same key for a single submission has another hash.
      if (accepted.judgementId === null) throw clientError("idempotencyConflict", []);
      return accepted.judgementId;
    } catch (error) {
      if (!(error instanceof VersionGone) || tries === MAX_TRIES) throw error;
    }
  }
}

/** @throws ClientError problemNotFound, and for limits that the program cannot have. */
async function versionOf(
  { problem: id, version }: { readonly problem: string; readonly version: number | undefined },
  program: ValidatedRequest,
  { accountId }: Caller,
  dependencies: Dependencies,
): Promise<Omit<NewJudgement, "id" | "stop">> {
  const found = await dependencies.store.problems.versionFor(id, accountId, version);
  if (!found) throw clientError("problemNotFound", []);
  const { versionSeq, number, definition } = found;
  for (const { limits } of definition.tests) checkTestLimits("problem.limits", limits, program, dependencies);
  return { versionSeq, tests: definition.tests.length, problem: { id, version: number } };
}

/** The erasure of an account can delete the tests before the judgement is accepted. */
const MAX_TRIES = 3;

/** Tests count against the rate limit: as many as this like one request, the first of which has been counted. */
const TESTS_PER_REQUEST = 50;

/** @throws ClientError quotaExceeded. */
function countTests(request: FastifyRequest, tests: number, { store }: Dependencies): Promise<void> {
  return countMore(request, Math.ceil(tests / TESTS_PER_REQUEST) - 1, store.quota);
}

/** Resolves with the judgement once it has ended, or with its present state when `signal` aborts. */
export async function whenJudged(
  { store: { judgements } }: Dependencies,
  id: string,
  accountId: string,
  signal: AbortSignal,
): Promise<Judgement | undefined> {
  let woken = Promise.withResolvers<void>();
  const wake = () => woken.resolve();
  // Subscribed before the first read, and armed again before each further read, so that no end is missed.
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
