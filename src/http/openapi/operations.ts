// Over 300 lines: one list, of data.
import type { ErrorCode } from "../../domain/error.ts";
import { JUDGEMENT_VERDICTS } from "../../domain/judgement.ts";
import { VERDICTS } from "../../domain/outcome.ts";
import type { SchemaName } from "./schemas.ts";

/** The endpoints in /openapi.json and /docs, each with every error that it can return. */
export interface Operation {
  readonly id: string;
  readonly method: "get" | "post" | "delete";
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly body?: SchemaName;
  /** The media type of a body that is not JSON. */
  readonly media?: string;
  readonly answers: readonly OperationResponse[];
  /** In addition to the errors of every endpoint. */
  readonly errors: readonly ErrorCode[];
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly description: string;
  readonly required?: boolean;
  readonly schema: Readonly<Record<string, unknown>>;
}

export interface OperationResponse {
  readonly status: number;
  readonly description: string;
  /** If several, any of them. None: not JSON, but of this media type. */
  readonly schemas: readonly SchemaName[];
  readonly media?: string;
  readonly location?: boolean;
}

/** Errors of every endpoint, raised before or instead of its own response. */
export const ANYWHERE: readonly ErrorCode[] = [
  "badRequest",
  "unknownQuery",
  "unauthorized",
  "accountSuspended",
  "httpsRequired",
  "requestTimeout",
  "expectationFailed",
  "quotaExceeded",
  "headersTooLarge",
  "internal",
  "shuttingDown",
  "databaseUnavailable",
  "tooManyConnections",
];

/** Errors outside the endpoints: unknown paths or methods, and pages. */
export const ELSEWHERE: readonly ErrorCode[] = ["routeNotFound", "methodNotAllowed", "tooManyRequests"];

/**
 * Errors of the dashboard only (src/http/dashboard/). Its API is internal to its page and not part of the description.
 */
export const DASHBOARD: readonly ErrorCode[] = [
  "signInNeeded",
  "signInRefused",
  "notAllowed",
  "foreignOrigin",
  "notFound",
  "linkInvalid",
  "noDashboard",
  "notPossible",
  "tooManySignIns",
  "tooManyExports",
  "playgroundClosed",
];

/** Errors of the APIs of other services only, which have their own descriptions (src/http/compatibility.ts). */
export const OTHER_APIS: readonly ErrorCode[] = ["pistonRequest", "pistonPackages", "upgradeRequired"];

/** Errors of bodies. */
const BODY: readonly ErrorCode[] = [
  "malformedJson",
  "duplicateField",
  "tooNested",
  "tooManyValues",
  "bodyTooLarge",
  "notJson",
  "noRoom",
];

const UUID = { type: "string", format: "uuid" };
const ID: Parameter = { name: "id", in: "path", required: true, description: "Id of the submission", schema: UUID };

function query(name: string, description: string, schema: Parameter["schema"]): Parameter {
  return { name, in: "query", description, schema };
}

const WAIT = query("wait", "`true`: respond when the run has ended", {
  type: "string",
  enum: ["true", "false"],
  default: "false",
});

const IDEMPOTENCY: Parameter = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "A request with the same key runs once; a repeated request returns 202 and the current record. Use a new key for " +
    "each submission, so that a request can be repeated when its response is lost.",
  schema: UUID,
};

/** Parameters of a list. */
const LISTED: readonly Parameter[] = [
  query("status", "Only with this status", { type: "string", enum: ["pending", "running", "completed", "error"] }),
  query("language", "Only in this language, by its canonical name", { type: "string" }),
  query("before", "`next` of the page before", { type: "string" }),
  query("limit", "At most this many, 1 to 100", { type: "integer", default: 50 }),
];
const withVerdict = (verdicts: readonly string[]) =>
  query("verdict", "Only with this verdict", { type: "string", enum: verdicts });

const JUDGEMENT_ID: Parameter = { ...ID, description: "Id of the judgement" };

const PROBLEM_ID: Parameter = { ...ID, description: "Id of the problem" };

/** Errors of requests that judge a program. */
const JUDGED: readonly ErrorCode[] = [
  ...BODY,
  "invalidRequest",
  "notUnicode",
  "codeEmpty",
  "codeTooLarge",
  "fieldMissing",
  "unsupportedLanguage",
  "profileForbidden",
  "judgementNotFinished",
  "queueFull",
  "languagesUnproven",
];

export const OPERATIONS: readonly Operation[] = [
  {
    id: "submit",
    method: "post",
    path: "/api/submit",
    summary: "Submit a program",
    description:
      "The program runs in a sandbox of its own. Without `wait`, poll the result by its `id`. With `wait=true`, the " +
      "response is sent when the run has ended, after 30 s at most. The run continues if the client disconnects.",
    parameters: [WAIT, IDEMPOTENCY],
    body: "SubmitRequest",
    answers: [
      { status: 200, description: "With `wait=true`: the final record", schemas: ["Record"] },
      {
        status: 202,
        description: "Accepted; for a known Idempotency-Key, the current record",
        schemas: ["Accepted", "Record"],
        location: true,
      },
    ],
    errors: [
      "malformedJson",
      "bodyNotObject",
      "duplicateField",
      "tooNested",
      "tooManyValues",
      "fieldMissing",
      "fieldNotString",
      "notUnicode",
      "unknownFields",
      "webhookField",
      "codeEmpty",
      "codeTooLarge",
      "stdinTooLarge",
      "unsupportedLanguage",
      "unknownProfile",
      "invalidRequest",
      "badWait",
      "badIdempotencyKey",
      "profileForbidden",
      "notFinished",
      "notFinishedAtStop",
      "submissionTooLarge",
      "notJson",
      "idempotencyConflict",
      "queueFull",
      "noRoom",
      "languagesUnproven",
    ],
  },
  {
    id: "result",
    method: "get",
    path: "/api/result/{id}",
    summary: "Read a result",
    description: "The current record. It is final when `status` is `completed` or `error`.",
    parameters: [ID, WAIT],
    answers: [{ status: 200, description: "The record", schemas: ["Record"] }],
    errors: ["submissionNotFound", "noRoom", "badWait", "notFinished", "notFinishedAtStop"],
  },
  ...(["stdout", "stderr"] as const).map((stream) => ({
    id: stream,
    method: "get" as const,
    path: `/api/result/{id}/${stream}`,
    summary: `Read the bytes of ${stream}`,
    description: "The bytes as the program wrote them, up to the limit. With `Range`, a part of them (206).",
    parameters: [ID],
    answers: [
      { status: 200, description: "All bytes", schemas: [], media: "application/octet-stream" },
      { status: 206, description: "The range", schemas: [], media: "application/octet-stream" },
    ],
    errors: ["submissionNotFound", "noOutput", "rangeOutside", "noRoom"] as const,
  })),
  {
    id: "usage",
    method: "get",
    path: "/api/result/{id}/usage",
    summary: "Read the course of a run",
    description:
      "Memory and CPU time, every 10 ms at first, at most 128 times. They are not evidence: the verdict follows from the record.",
    parameters: [ID],
    answers: [{ status: 200, description: "The samples", schemas: ["Usage"] }],
    errors: ["submissionNotFound"],
  },
  {
    id: "cancel",
    method: "post",
    path: "/api/result/{id}/cancel",
    summary: "Cancel a submission",
    description:
      "Ends a pending submission, or kills a running one: `error`, IE, cause `cancelled`. An ended submission stays as it is.",
    parameters: [ID],
    answers: [{ status: 200, description: "The final record", schemas: ["Record"] }],
    errors: ["submissionNotFound", ...BODY],
  },
  {
    id: "events",
    method: "get",
    path: "/api/result/{id}/events",
    summary: "Follow a submission",
    description:
      "Server-sent events: `status` (`{status}`); for a submission with `stream`, `stdout` and `stderr` (`{at, text}`, `at` in " +
      "bytes), from the start or after `Last-Event-ID`; and `ended` with the final record.",
    parameters: [
      ID,
      { name: "Last-Event-ID", in: "header", description: "Id of the last event received", schema: { type: "string" } },
    ],
    answers: [{ status: 200, description: "The events", schemas: [], media: "text/event-stream" }],
    errors: ["submissionNotFound", "tooManyWatched", "noRoom"],
  },
  {
    id: "submissions",
    method: "get",
    path: "/api/submissions",
    summary: "List submissions",
    description: "Those of the account, newest first. A page can have fewer than `limit`, while `next` is not null.",
    parameters: [...LISTED, withVerdict(VERDICTS)],
    answers: [{ status: 200, description: "A page", schemas: ["Submissions"] }],
    errors: ["invalidRequest"],
  },
  {
    id: "batch",
    method: "post",
    path: "/api/submissions/batch",
    summary: "Submit several programs",
    description:
      "Each counts against the rate limit and is accepted or rejected by itself. The response has the order of the request.",
    parameters: [],
    body: "BatchRequest",
    answers: [{ status: 202, description: "For each, its id or an error", schemas: ["Batch"] }],
    errors: ["invalidRequest", ...BODY],
  },
  {
    id: "judge",
    method: "post",
    path: "/api/judge",
    summary: "Judge a program",
    description:
      "Runs a program on up to 50 cases and compares its output with `expected`. The response is sent when all have run, after " +
      "30 s at most. It is a judgement in one call, with the outputs of the program.",
    parameters: [],
    body: "JudgeRequest",
    answers: [{ status: 200, description: "The results in the order of the cases", schemas: ["Judged"] }],
    errors: JUDGED,
  },
  {
    id: "addJudgement",
    method: "post",
    path: "/api/judgements",
    summary: "Judge a program on tests",
    description:
      "Runs a program on up to 500 tests, or on those of a problem, each in a sandbox of its own, and checks its outputs. It is compiled once; the first " +
      "test runs alone, so that a program that does not compile is `CE` at once. The first test, in their order, that does not " +
      "pass decides the verdict. Without `wait`, poll the judgement by its `id`.",
    parameters: [WAIT, IDEMPOTENCY],
    body: "JudgementRequest",
    answers: [
      { status: 200, description: "With `wait=true`: the ended judgement", schemas: ["Judgement"] },
      { status: 202, description: "Accepted", schemas: ["JudgementAccepted"], location: true },
    ],
    errors: [...JUDGED, "badWait", "badIdempotencyKey", "idempotencyConflict", "problemNotFound"],
  },
  {
    id: "judgements",
    method: "get",
    path: "/api/judgements",
    summary: "List judgements",
    description: "Those of the account, newest first.",
    parameters: [
      ...LISTED,
      withVerdict(JUDGEMENT_VERDICTS),
      query("problem", "Only on this problem, by its id, also after its deletion", UUID),
    ],
    answers: [{ status: 200, description: "A page of them", schemas: ["Judgements"] }],
    errors: ["invalidRequest"],
  },
  {
    id: "judgement",
    method: "get",
    path: "/api/judgements/{id}",
    summary: "Get a judgement",
    description: "Its present state. The record of each run, with its evidence, is at `/api/result/{submission_id}`.",
    parameters: [JUDGEMENT_ID, WAIT],
    answers: [{ status: 200, description: "The judgement", schemas: ["Judgement"] }],
    errors: ["judgementNotFound", "judgementNotFinished", "badWait"],
  },
  {
    id: "cancelJudgement",
    method: "post",
    path: "/api/judgements/{id}/cancel",
    summary: "Cancel a judgement",
    description: "Ends it as `error` with IE, and its runs with it. An ended judgement does not change.",
    parameters: [JUDGEMENT_ID],
    answers: [{ status: 200, description: "The judgement", schemas: ["Judgement"] }],
    errors: ["judgementNotFound", ...BODY],
  },
  {
    id: "rejudge",
    method: "post",
    path: "/api/judgements/{id}/rejudge",
    summary: "Judge a program again",
    description: "Adds a judgement of the same program on the same tests.",
    parameters: [JUDGEMENT_ID],
    answers: [{ status: 202, description: "Accepted", schemas: ["JudgementAccepted"], location: true }],
    errors: ["judgementNotFound", "profileForbidden", "unsupportedLanguage", "languagesUnproven", "queueFull", ...BODY],
  },
  {
    id: "judgementEvents",
    method: "get",
    path: "/api/judgements/{id}/events",
    summary: "Follow a judgement",
    description:
      "Server-sent events: `state` with the judgement at the start and after changes, at most twice a second, and `ended` with " +
      "the final one. After a lost connection, connect again: each event has the whole state.",
    parameters: [JUDGEMENT_ID],
    answers: [{ status: 200, description: "A stream of events", schemas: [], media: "text/event-stream" }],
    errors: ["judgementNotFound", "tooManyWatched"],
  },
  {
    id: "importProblem",
    method: "post",
    path: "/api/problems",
    summary: "Import a problem",
    description:
      "A problem package as a ZIP archive: the Kattis formats `legacy` and `2025-09`, or that of DMOJ. It becomes the current " +
      "version of the problem of this name. The same content again changes nothing. An import counts against the rate limit " +
      "as one request for each 16 MiB of its unpacked files, or of its tests if these have more.",
    parameters: [
      query("name", "By default the directory in the archive that has all files", { type: "string" }),
      query("time_limit", "In seconds of CPU time, in place of that of the package. Required if it has none", {
        type: "number",
      }),
    ],
    media: "application/zip",
    answers: [
      { status: 200, description: "The current version has the same content", schemas: ["Problem"], location: true },
      { status: 201, description: "A new version", schemas: ["Problem"], location: true },
    ],
    errors: [
      "invalidRequest",
      "invalidPackage",
      "problemsFull",
      "bodyTooLarge",
      "notZip",
      "noRoom",
      "queueFull",
      "problemNotFound",
    ],
  },
  {
    id: "problems",
    method: "get",
    path: "/api/problems",
    summary: "List problems",
    description: "Those of the account, newest first.",
    parameters: LISTED.slice(-2),
    answers: [{ status: 200, description: "A page of them", schemas: ["Problems"] }],
    errors: ["invalidRequest"],
  },
  {
    id: "problem",
    method: "get",
    path: "/api/problems/{id}",
    summary: "Get a problem",
    description: "With its versions, newest first.",
    parameters: [PROBLEM_ID],
    answers: [{ status: 200, description: "The problem", schemas: ["Problem"] }],
    errors: ["problemNotFound"],
  },
  {
    id: "deleteProblem",
    method: "delete",
    path: "/api/problems/{id}",
    summary: "Delete a problem",
    description: "Its judgements stay until they expire, and can be judged again.",
    parameters: [PROBLEM_ID],
    answers: [{ status: 200, description: "The problem as it was", schemas: ["Problem"] }],
    errors: ["problemNotFound", ...BODY],
  },
  {
    id: "languages",
    method: "get",
    path: "/api/languages",
    summary: "List the languages",
    description:
      "The languages whose smoke test passed in a real sandbox. Each is tested at the start and every 15 minutes.",
    parameters: [],
    answers: [{ status: 200, description: "Canonical names", schemas: ["Languages"] }],
    errors: [],
  },
  {
    id: "languageDetails",
    method: "get",
    path: "/api/languages/details",
    summary: "Describe the languages",
    description: "Versions, commands and limits of the same languages.",
    parameters: [],
    answers: [{ status: 200, description: "One object for each language", schemas: ["LanguageDetails"] }],
    errors: [],
  },
  {
    id: "health",
    method: "get",
    path: "/api/health",
    summary: "Read the load",
    description: "Clients can back off by `queue_depth`.",
    parameters: [],
    answers: [{ status: 200, description: "Healthy or degraded", schemas: ["Health"] }],
    errors: [],
  },
  {
    id: "ready",
    method: "get",
    path: "/api/health/ready",
    summary: "Check readiness",
    description: "200 only if a recent real run proved every control.",
    parameters: [],
    answers: [{ status: 200, description: "Ready", schemas: ["Ready"] }],
    errors: ["notReady"],
  },
];
