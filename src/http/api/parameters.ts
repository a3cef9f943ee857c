import { z } from "zod";
import { clientError, echo } from "../../domain/error.ts";
import { statusSchema } from "../../domain/record.ts";
import type { Parameter } from "../route.ts";

/** Parameters that several routes have. */

/** An id in the path. A text that is not a UUID is an unknown id. An id of another account gets the same error as an unknown one. */
const id = { schema: z.string().toLowerCase().meta({ format: "uuid" }), refuse: null } as const;

export const SUBMISSION_ID = { ...id, description: "Id of the submission", errors: ["submissionNotFound"] } as const;
export const JUDGEMENT_ID = { ...id, description: "Id of the judgement", errors: ["judgementNotFound"] } as const;
export const PROBLEM_ID = { ...id, description: "Id of the problem", errors: ["problemNotFound"] } as const;

export const SANDBOX_ID = { ...id, description: "Id of the sandbox", errors: ["sandboxNotFound"] } as const;
export const SNAPSHOT_ID = { ...id, description: "Id of the snapshot", errors: ["snapshotNotFound"] } as const;

/** The number of an execution in the path. A text that is not a number is an unknown execution. */
export const EXECUTION_NUMBER = {
  description: "Number of the execution",
  schema: z.codec(z.string(), z.int(), {
    decode: (text) => (/^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0),
    encode: String,
  }),
  refuse: null,
  errors: ["executionNotFound"],
} as const satisfies Parameter;

export const WAIT = {
  description:
    "With `true`, the response is sent when the run or judgement has ended. If it has not ended after 30 s, the response is 408 with the `id`",
  schema: z.enum(["true", "false"]).default("false"),
  refuse: { code: "badWait", error: (value: unknown) => clientError("badWait", [echo(String(value))]) },
} as const satisfies Parameter;

export const IDEMPOTENCY_KEY = {
  description:
    "A UUID that the client chooses. Requests with the same UUID run once: a repeated request returns 202 and the current " +
    "record. Use a new UUID for each submission, so that you can repeat a request whose response was lost.",
  schema: z.guid().toLowerCase().optional(),
  refuse: { code: "badIdempotencyKey", error: () => clientError("badIdempotencyKey", []) },
  errors: ["idempotencyConflict"],
} as const satisfies Parameter;

/** The most entries of a list in one response. */
const MAX_LISTED = 100;

/** The query parameters that each list has. */
export const PAGE = {
  before: {
    description: "The value of `next` from the previous page; without it, the list starts at the newest",
    schema: z
      .string()
      .regex(/^\d{1,15}$/, "is not the `next` of a list")
      .optional(),
  },
  limit: {
    description: `The most entries of a page, from 1 to ${MAX_LISTED}`,
    schema: z
      .codec(z.string().regex(/^([1-9]\d?|100)$/, `must be 1 to ${MAX_LISTED}`), z.int().min(1).max(MAX_LISTED), {
        decode: Number,
        encode: String,
      })
      .default(50),
  },
} as const;

/** The query parameters of the lists of submissions and judgements. */
export const LIST = {
  status: {
    description: "Lists only entries with this status",
    schema: statusSchema.optional(),
  },
  language: {
    description: "Lists only entries in this language, given by its canonical name",
    schema: z
      .string()
      .regex(/^[a-z][a-z0-9+#]{0,31}$/, "is not a language")
      .optional(),
  },
  ...PAGE,
} as const;

/** A query parameter that lists only entries with one verdict. */
export function verdictParameter<const Verdict extends string>(verdicts: readonly Verdict[]) {
  return { description: "Lists only entries with this verdict", schema: z.enum(verdicts).optional() };
}

/** The parameters of a list as the store reads them: `before` is the number of an entry, and `limit` is called `max`. */
export function pageOf<Query extends { readonly before: string | undefined; readonly limit: number }>(query: Query) {
  const { before, limit, ...which } = query;
  return { ...which, before: before === undefined ? undefined : Number(before), max: limit };
}
