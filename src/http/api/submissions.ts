import { z } from "zod";
import { ClientError, clientError } from "../../domain/error.ts";
import { VERDICTS } from "../../domain/outcome.ts";
import { countRequests } from "../access/rate-limit.ts";
import { named } from "../named-schemas.ts";
import { type Call, route, type Services } from "../route.ts";
import { accept } from "./accept.ts";
import { next, profile, status, submissionId, time, verdict } from "./fields.ts";
import { LIST, pageOf, verdictParameter } from "./parameters.ts";
import { accepted } from "./submit.ts";
import { submitBody, toSubmitRequest } from "./submit-request.ts";

/** The most submissions of one batch. */
const MAX_BATCH = 50;

const summary = named(
  "SubmissionSummary",
  z.strictObject({
    id: submissionId,
    status,
    verdict: verdict.nullable(),
    language: z.string(),
    profile,
    created_at: time,
    started_at: time.nullable(),
    completed_at: time.nullable(),
  }),
);
const error = named("Error", z.strictObject({ error: z.string(), message: z.string().optional() }));

export const submissions = route({
  id: "submissions",
  method: "get",
  path: "/api/submissions",
  summary: "List submissions",
  description:
    "Lists the account's submissions, newest first. A page can have fewer entries than `limit` although older submissions " +
    "follow; the list ends where `next` is null.",
  parameters: { query: { ...LIST, verdict: verdictParameter(VERDICTS) } },
  successes: {
    200: {
      description: "A page of submissions",
      body: named("Submissions", z.strictObject({ submissions: z.array(summary), next })),
    },
  },
  handler:
    ({ dependencies: { store } }) =>
    async ({ caller, query }) => {
      const { found, next } = await store.submissionSearch.search({ ...pageOf(query), accountIds: [caller.accountId] });
      const submissions = found.map(
        ({ id, status, verdict, language, profile, createdAtMs, startedAtMs, completedAtMs }) => ({
          ...{ id, status, verdict, language, profile },
          created_at: iso(createdAtMs),
          started_at: startedAtMs === null ? null : iso(startedAtMs),
          completed_at: completedAtMs === null ? null : iso(completedAtMs),
        }),
      );
      return { submissions, next: next === null ? null : String(next) };
    },
});

const iso = (ms: number) => new Date(ms).toISOString();

export const batch = route({
  id: "batch",
  method: "post",
  path: "/api/submissions/batch",
  summary: "Submit several programs",
  description:
    "Accepts or rejects each program independently. Each run of a program counts against the rate limit as one request. The entries of the " +
    "response have the order of the request.",
  body: named("BatchRequest", z.array(submitBody).min(1).max(MAX_BATCH)),
  successes: {
    202: {
      description: "The id of each submission, or the error that rejected it",
      body: named("Batch", z.array(z.union([accepted, error]))),
    },
  },
  errors: ["invalidRequest"],
  handler: (services) => async (call) => {
    const { body } = call.request;
    if (!Array.isArray(body) || body.length === 0 || body.length > MAX_BATCH)
      throw clientError("invalidRequest", ["the body", `must be an array of 1 to ${MAX_BATCH} submissions`]);
    call.reply.code(202);
    // The submissions are added concurrently, because the store adds those that arrive at the same time in one transaction.
    return await Promise.all(body.map((one, at) => submitOne(call, one, at > 0, services)));
  },
});

/** @param counts whether the submission counts against the rate limit. The first one does not: the request itself has been counted. */
async function submitOne({ caller }: Call, body: unknown, counts: boolean, { dependencies }: Services) {
  try {
    const valid = toSubmitRequest(body, caller, dependencies, { mayHaveNetwork: true });
    if (counts) await countRequests(caller, dependencies);
    const { live, takesInput } = valid;
    const { submission, queueDepth } = await accept(valid, caller, dependencies, { live, takesInput });
    return { id: submission.id, status: "pending" as const, queue_depth: queueDepth };
  } catch (error) {
    if (error instanceof ClientError) return { error: error.body.error };
    throw error;
  }
}
