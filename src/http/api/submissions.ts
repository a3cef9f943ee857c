import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { ClientError, clientError } from "../../domain/error.ts";
import { VERDICTS } from "../../domain/outcome.ts";
import { callerOf } from "../access/caller.ts";
import { countRequests } from "../access/rate-limit.ts";
import type { Dependencies } from "../dependencies.ts";
import { accept } from "./accept.ts";
import { toSubmitRequest } from "./submit-request.ts";

/** The most submissions of one batch. */
export const MAX_BATCH = 50;
/** The most entries of a list in one response. */
const MAX_LISTED = 100;

/** The query parameters that several lists have. */
export const listFields = {
  status: z.enum(["pending", "running", "completed", "error"]).optional(),
  language: z
    .string()
    .regex(/^[a-z][a-z0-9+#]{0,31}$/, "is not a language")
    .optional(),
  before: z
    .string()
    .regex(/^\d{1,15}$/, "is not the `next` of a list")
    .optional(),
  limit: z
    .string()
    .regex(/^([1-9]\d?|100)$/, `must be 1 to ${MAX_LISTED}`)
    .optional(),
};

/** Query of GET /api/submissions. */
export const listQuery = z.strictObject({ ...listFields, verdict: z.enum(VERDICTS).optional() });

/** @throws ClientError for a field that is not valid. */
export function parseList<T extends { before?: string | undefined; limit?: string | undefined }>(
  schema: z.ZodType<T>,
  query: unknown,
) {
  const parsed = schema.safeParse(query);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw clientError("invalidRequest", [String(issue?.path[0]), issue?.message ?? ""]);
  }
  const { before, limit = "50", ...which } = parsed.data;
  return { ...which, before: before === undefined ? undefined : Number(before), max: Number(limit) };
}

const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

/** GET /api/submissions and POST /api/submissions/batch: list the submissions of the caller's account, and add several. */
export function submissionsRoutes(server: FastifyInstance, dependencies: Dependencies): void {
  const { store } = dependencies;

  server.get("/api/submissions", async (request) => {
    const accountIds = [callerOf(request).accountId];
    const { found, next } = await store.submissionSearch.search({ ...parseList(listQuery, request.query), accountIds });
    const submissions = found.map(
      ({ id, status, verdict, language, profile, createdAtMs, startedAtMs, completedAtMs }) => ({
        ...{ id, status, verdict, language, profile },
        created_at: iso(createdAtMs),
        started_at: iso(startedAtMs),
        completed_at: iso(completedAtMs),
      }),
    );
    return { submissions, next: next === null ? null : String(next) };
  });

  server.post("/api/submissions/batch", async (request, reply) => {
    const { body } = request;
    if (!Array.isArray(body) || body.length === 0 || body.length > MAX_BATCH)
      throw clientError("invalidRequest", ["the body", `must be an array of 1 to ${MAX_BATCH} submissions`]);
    reply.code(202);
    // The submissions are added concurrently, because the store adds those that arrive at the same time in one transaction.
    return await Promise.all(body.map((one, at) => submitOne(request, one, at > 0, dependencies)));
  });
}

/** @param counts whether the submission counts against the rate limit. The first one does not: the request itself has been counted. */
async function submitOne(request: FastifyRequest, body: unknown, counts: boolean, dependencies: Dependencies) {
  const caller = callerOf(request);
  try {
    const valid = toSubmitRequest(body, caller, dependencies);
    if (counts) await countRequests(caller, dependencies);
    const accepted = await accept(valid, caller, dependencies, { live: valid.live });
    const { id, status } = accepted.submission;
    return { id, status, queue_depth: accepted.queueDepth };
  } catch (error) {
    if (error instanceof ClientError) return { error: error.body.error };
    throw error;
  }
}
