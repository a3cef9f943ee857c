import { z } from "zod";
import { abortAfter } from "../../domain/abort-after.ts";
import { CHECKER_TYPES } from "../../domain/check.ts";
import { clientError, type ErrorCode } from "../../domain/error.ts";
import { JUDGEMENT_VERDICTS, type Judgement, PACKAGE_RULES, STOPS } from "../../domain/judgement.ts";
import { JUDGEMENT_SCHEMA_VERSION, toJudgementRecord, toJudgementSummary } from "../../domain/judgement-record.ts";
import { isTerminal } from "../../domain/submission.ts";
import { isStillValid } from "../access/auth.ts";
import type { Dependencies } from "../dependencies.ts";
import { named } from "../named-schemas.ts";
import { disconnected } from "../responses/client-disconnect.ts";
import { sendChanges } from "../responses/sse-state.ts";
import { StreamBudget } from "../responses/stream-budget.ts";
import { type Call, route, type Services } from "../route.ts";
import { addJudgement, rejudge } from "./accept-judgement.ts";
import { count, next, profile, status, submissionId, time } from "./fields.ts";
import { judgementBody } from "./judgement-request.ts";
import { IDEMPOTENCY_KEY, JUDGEMENT_ID, LIST, pageOf, verdictParameter, WAIT } from "./parameters.ts";

/** The most JSON values in the body of a judgement. They are enough for MAX_TESTS tests with all fields. */
export const MAX_JUDGEMENT_VALUES = 8_192;

/** The most streams of judgements that an account can have open at once. */
const MAX_WATCHED = 8;

export const judgementVerdict = named(
  "JudgementVerdict",
  z
    .enum(JUDGEMENT_VERDICTS)
    .describe(
      "WA: the output is wrong. CE: the program does not compile. The other verdicts have the same meaning as in the record",
    ),
);
const judgementId = z.uuid().describe("Id of the judgement");
const summaryFields = {
  id: judgementId,
  schema_version: z.literal(JUDGEMENT_SCHEMA_VERSION),
  language: z.string(),
  profile,
  problem: z
    .strictObject({ id: z.uuid(), version: z.int().min(1) })
    .nullable()
    .describe("The problem and its version; null if the request had the tests"),
  status: status.describe("`error` if and only if the verdict is IE"),
  timestamps: z.strictObject({ created_at: time, completed_at: time.nullable() }),
  verdict: judgementVerdict.nullable(),
  score: z.number().nullable().describe("Null until the judgement has ended"),
  tests: z.strictObject({ total: count, passed: count, ended: count }),
};
const summary = named("JudgementSummary", z.strictObject(summaryFields));
const groupResult = named(
  "GroupResult",
  z.strictObject({
    name: z.string().describe("Empty for the tests without a group"),
    rule: z
      .enum(PACKAGE_RULES)
      .describe(
        "How the points follow from the tests and groups in the group. Groups of problem packages also have the rules `least`, `greatest`, `average` and `all`",
      ),
    parent: z.string().nullable().describe("The group that contains this one; null if none does"),
    score: z.number(),
    max_score: z.number(),
    passed: z
      .boolean()
      .nullable()
      .describe("Whether all tests passed, unless the package has another rule; null while open tests decide it"),
  }),
);
const run = named(
  "Run",
  z.strictObject({
    name: z.string(),
    group: z.string(),
    status: z.enum(["waiting", "queued", "completed", "skipped"]).describe("`skipped` if the test was not needed"),
    verdict: judgementVerdict.nullable(),
    points: z.number(),
    max_points: z.number(),
    message: z.string().nullable().describe("The message of the checker, or the error message of the record"),
    submission_id: submissionId.nullable().describe("The id of the record; null until the run has ended"),
    cpu_time_secs: z.number().nullable(),
    wall_time_secs: z.number().nullable(),
    memory_peak_bytes: z.int().nullable(),
  }),
);
const graderResult = named(
  "GraderResult",
  z.strictObject({
    submission_id: submissionId.nullable().describe("The id of the record of its run; null until it has ended"),
    message: z.string().nullable().describe("Why it gave no result, so that the verdict is IE; null if it gave one"),
  }),
);
const judgementRecord = named(
  "Judgement",
  z.strictObject({
    ...summaryFields,
    max_score: z.number(),
    stop: z.enum(STOPS),
    checker: z.enum([...CHECKER_TYPES, "program"]),
    grader: graderResult
      .describe(
        "The grader of the package, which runs after the tests. Only judgements of a problem with a grader have it",
      )
      .optional(),
    groups: z.array(groupResult),
    runs: z.array(run).describe("The runs, in the order of the tests"),
  }),
);
const judgementAccepted = named("JudgementAccepted", z.strictObject({ id: judgementId, status: z.literal("pending") }));
const ACCEPTED = { description: "The judgement is accepted", body: judgementAccepted, location: true } as const;

/** The errors of addJudgement() and endedJudgement(). */
export const JUDGEMENT_ERRORS = [
  "invalidRequest",
  "notUnicode",
  "codeEmpty",
  "codeTooLarge",
  "fieldMissing",
  "unsupportedLanguage",
  "profileForbidden",
  "judgementNotFinished",
  "judgementNotFinishedAtStop",
  "queueFull",
  "languagesUnproven",
] as const satisfies readonly ErrorCode[];

/** @throws ClientError judgementNotFound, also for a judgement of another account. */
async function find(
  { caller, path: { id } }: Call<{ readonly id: string }>,
  { dependencies: { store } }: Services,
): Promise<Judgement> {
  const judgement = await store.judgements.get(id, caller.accountId);
  if (!judgement) throw clientError("judgementNotFound", []);
  return judgement;
}

/** Waits for the end of the judgement, and responds with its record. @throws ClientError as endedJudgement() does. */
async function sendEnded(id: string, call: Call, services: Services) {
  return services.answers.send(call.owner, call.reply, toJudgementRecord(await endedJudgement(id, call, services)));
}

/** Responds with the id of an accepted judgement. */
function sendAccepted(id: string, { reply }: Call) {
  reply.code(202).header("location", `/api/judgements/${id}`);
  return { id, status: "pending" as const };
}

export const judgeOnTests = route({
  id: "addJudgement",
  method: "post",
  path: "/api/judgements",
  summary: "Judge a program on tests",
  description:
    "Runs a program on up to 500 tests, which are in the request or belong to a stored problem, and checks its outputs. Each run has a sandbox of its own. The " +
    "program is compiled once for each worker that runs tests. The first test runs alone, so that a program that does not compile is `CE` at once. The first " +
    "test, in the order of the request, that does not pass decides the verdict. Without `wait`, poll the judgement by its `id`.",
  parameters: { query: { wait: WAIT }, headers: { "Idempotency-Key": IDEMPOTENCY_KEY } },
  body: judgementBody,
  successes: {
    200: { description: "The finished judgement, with `wait=true`", body: judgementRecord },
    202: ACCEPTED,
  },
  errors: [...JUDGEMENT_ERRORS, "problemNotFound"],
  config: { values: MAX_JUDGEMENT_VALUES, large: true },
  handler: (services) => async (call) => {
    const { request, caller, owner, query, headers } = call;
    const judging = { caller, owner, key: headers["Idempotency-Key"] };
    const id = await addJudgement(request.body, judging, services.dependencies, services.answers);
    request.forgetBody?.();
    return query.wait === "true" ? await sendEnded(id, call, services) : sendAccepted(id, call);
  },
});

export const judgements = route({
  id: "judgements",
  method: "get",
  path: "/api/judgements",
  summary: "List judgements",
  description: "Lists the account's judgements, newest first.",
  parameters: {
    query: {
      ...LIST,
      verdict: verdictParameter(JUDGEMENT_VERDICTS),
      problem: {
        description: "Lists only judgements on the problem with this id, even if it has been deleted",
        schema: z.uuid("is not the id of a problem").toLowerCase().optional(),
      },
    },
  },
  successes: {
    200: {
      description: "A page of judgements",
      body: named("Judgements", z.strictObject({ judgements: z.array(summary), next })),
    },
  },
  handler:
    ({ dependencies: { store } }) =>
    async ({ caller: { accountId }, query }) => {
      const { problem, ...which } = pageOf(query);
      const { found, next } = await store.judgements.search({ ...which, accountId, problemId: problem });
      return { judgements: found.map(toJudgementSummary), next: next === null ? null : String(next) };
    },
});

export const judgement = route({
  id: "judgement",
  method: "get",
  path: "/api/judgements/{id}",
  summary: "Get a judgement",
  description:
    "Returns the current state of the judgement. The record of each run, with its evidence, is at `/api/result/{submission_id}`.",
  parameters: { path: { id: JUDGEMENT_ID }, query: { wait: WAIT } },
  successes: { 200: { description: "The judgement", body: judgementRecord } },
  errors: ["judgementNotFinished", "judgementNotFinishedAtStop"],
  handler: (services) => async (call) => {
    const found = await find(call, services);
    if (call.query.wait === "true" && !isTerminal(found.status)) return await sendEnded(found.id, call, services);
    return services.answers.send(call.owner, call.reply, toJudgementRecord(found));
  },
});

export const cancelJudgement = route({
  id: "cancelJudgement",
  method: "post",
  path: "/api/judgements/{id}/cancel",
  summary: "Cancel a judgement",
  description:
    "Ends the judgement and its runs; its status becomes `error`, with the verdict IE. A finished judgement does not change.",
  parameters: { path: { id: JUDGEMENT_ID } },
  successes: { 200: { description: "The judgement", body: judgementRecord } },
  config: { bodyless: true },
  handler: (services) => async (call) => {
    const { id, accountId } = await find(call, services);
    await services.dependencies.store.judgements.cancel(id, accountId);
    return services.answers.send(call.owner, call.reply, toJudgementRecord(await find(call, services)));
  },
});

export const judgeAgain = route({
  id: "rejudge",
  method: "post",
  path: "/api/judgements/{id}/rejudge",
  summary: "Judge a program again",
  description: "Creates a judgement of the same program on the same tests.",
  parameters: { path: { id: JUDGEMENT_ID } },
  successes: { 202: ACCEPTED },
  errors: ["profileForbidden", "unsupportedLanguage", "languagesUnproven", "queueFull"],
  config: { bodyless: true },
  handler: (services) => async (call) => {
    const { id } = await find(call, services);
    const accepted = await rejudge(id, { caller: call.caller }, services.dependencies);
    if (accepted === undefined) throw clientError("judgementNotFound", []);
    return sendAccepted(accepted, call);
  },
});

export const judgementEvents = route({
  id: "judgementEvents",
  method: "get",
  path: "/api/judgements/{id}/events",
  summary: "Follow a judgement",
  description:
    "Sends server-sent events. The event `state` has the judgement; it is sent at the start and after changes, at most twice a " +
    "second. The event `ended` has the final judgement. After a lost connection, connect again: each event has the whole state.",
  parameters: { path: { id: JUDGEMENT_ID } },
  successes: { 200: { description: "A stream of events", media: "text/event-stream" } },
  errors: ["tooManyWatched"],
  handler: (services) => {
    const { dependencies, answers, stopping } = services;
    const { judgements, keys } = dependencies.store;
    const streams = new StreamBudget(MAX_WATCHED);
    return async (call) => {
      const { request, reply } = call;
      const { id, accountId } = await find(call, services);
      streams.open(accountId, reply);
      return sendChanges(answers, request, reply, stopping, {
        subscribe: (listener) => judgements.onChange(id, listener),
        isAllowed: () => isStillValid(request, keys),
        read: async () => {
          const judgement = await judgements.get(id, accountId);
          if (!judgement) return undefined;
          return { isLast: isTerminal(judgement.status), value: toJudgementRecord(judgement) };
        },
      });
    };
  },
});

/**
 * Waits for the end of a judgement, for at most `dependencies.holdMs`.
 * @throws ClientError judgementNotFinished, or judgementNotFinishedAtStop if the service stops.
 */
export async function endedJudgement(
  id: string,
  { reply, caller }: Pick<Call, "reply" | "caller">,
  { dependencies, stopping }: Pick<Services, "dependencies" | "stopping">,
): Promise<Judgement> {
  const { holdMs } = dependencies;
  const signal = abortAfter(holdMs, disconnected(reply), stopping);
  const judgement = await whenJudged(dependencies, id, caller.accountId, signal);
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
