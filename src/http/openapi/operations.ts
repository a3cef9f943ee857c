import type { ErrorCode } from "../../domain/error.ts";
import { JUDGEMENT_VERDICTS } from "../../domain/judgement.ts";
import { VERDICTS } from "../../domain/outcome.ts";
import type { SchemaName } from "./schemas.ts";

/** An endpoint, as /openapi.json and /docs describe it. */
export interface Operation {
  readonly id: string;
  readonly method: "get" | "post" | "delete";
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly body?: SchemaName;
  /** The media type of the request's body, if it is not JSON. */
  readonly media?: string;
  readonly answers: readonly OperationResponse[];
  /** The errors that the endpoint can return, in addition to COMMON_ERRORS. */
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
  /** The body has one of these schemas. If there is none, the body is not JSON, but has the type `media`. */
  readonly schemas: readonly SchemaName[];
  readonly media?: string;
  /** Whether the response has the header Location. */
  readonly location?: boolean;
}

/** Errors that every endpoint can return. */
export const COMMON_ERRORS: readonly ErrorCode[] = [
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

/** Errors that no endpoint returns, but requests for unknown paths or methods, and for pages. */
export const OUTSIDE_ERRORS: readonly ErrorCode[] = ["routeNotFound", "methodNotAllowed", "tooManyRequests"];

/**
 * Errors that only the dashboard returns (src/http/dashboard/). The dashboard's API is only for its page, so it is not described.
 */
export const DASHBOARD_ERRORS: readonly ErrorCode[] = [
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

/** Errors that only the APIs for clients of other services return (src/http/compatibility.ts). docs/ describes these APIs. */
export const OTHER_API_ERRORS: readonly ErrorCode[] = ["pistonRequest", "pistonPackages", "upgradeRequired"];

/** Errors of the body of a request. */
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

const WAIT = query(
  "wait",
  "With `true`, the response is sent when the run or judgement has ended. If it has not ended after 30 s, the response is 408 with the `id`",
  {
    type: "string",
    enum: ["true", "false"],
    default: "false",
  },
);

const IDEMPOTENCY: Parameter = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "A UUID that the client chooses. Requests with the same UUID run once: a repeated request returns 202 and the current " +
    "record. Use a new UUID for each submission, so that you can repeat a request whose response was lost.",
  schema: UUID,
};

/** The query parameters of lists. */
const LISTED: readonly Parameter[] = [
  query("status", "Lists only entries with this status", {
    type: "string",
    enum: ["pending", "running", "completed", "error"],
  }),
  query("language", "Lists only entries in this language, given by its canonical name", { type: "string" }),
  query("before", "The value of `next` from the previous page; without it, the list starts at the newest", {
    type: "string",
  }),
  query("limit", "The most entries of a page, from 1 to 100", { type: "integer", default: 50 }),
];
const withVerdict = (verdicts: readonly string[]) =>
  query("verdict", "Lists only entries with this verdict", { type: "string", enum: verdicts });

const JUDGEMENT_ID: Parameter = { ...ID, description: "Id of the judgement" };

const PROBLEM_ID: Parameter = { ...ID, description: "Id of the problem" };

/** Errors that POST /api/judge and POST /api/judgements have in common. */
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
  "judgementNotFinishedAtStop",
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
      "The program runs in a sandbox of its own. The response has the `id` by which you poll the result. The run continues if the " +
      "client disconnects.",
    parameters: [WAIT, IDEMPOTENCY],
    body: "SubmitRequest",
    answers: [
      { status: 200, description: "The final record, with `wait=true`", schemas: ["Record"] },
      {
        status: 202,
        description:
          "The submission is accepted; if the Idempotency-Key is known, the current record of its submission",
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
    description: "Returns the current record. It is final when `status` is `completed` or `error`.",
    parameters: [ID, WAIT],
    answers: [{ status: 200, description: "The record", schemas: ["Record"] }],
    errors: ["submissionNotFound", "noRoom", "badWait", "notFinished", "notFinishedAtStop"],
  },
  ...(["stdout", "stderr"] as const).map((stream) => ({
    id: stream,
    method: "get" as const,
    path: `/api/result/{id}/${stream}`,
    summary: `Read the bytes of ${stream}`,
    description:
      "Returns the bytes as the program wrote them, up to the output limit. A request with `Range` gets a part of them, with status 206.",
    parameters: [ID],
    answers: [
      { status: 200, description: "All captured bytes", schemas: [], media: "application/octet-stream" },
      { status: 206, description: "The requested range", schemas: [], media: "application/octet-stream" },
    ],
    errors: ["submissionNotFound", "noOutput", "rangeOutside", "noRoom"] as const,
  })),
  {
    id: "usage",
    method: "get",
    path: "/api/result/{id}/usage",
    summary: "Read the resource usage over a run",
    description:
      "Returns memory and CPU time at up to 128 moments of the run. They are 10 ms apart at first; when there would be more than " +
      "128, the distance doubles. These samples are not evidence: the verdict follows from the record alone.",
    parameters: [ID],
    answers: [{ status: 200, description: "The samples of the run", schemas: ["Usage"] }],
    errors: ["submissionNotFound"],
  },
  {
    id: "cancel",
    method: "post",
    path: "/api/result/{id}/cancel",
    summary: "Cancel a submission",
    description:
      "Ends a pending submission, or kills a running one. Its status becomes `error`, with the verdict IE and the cause " +
      "`cancelled`. A finished submission does not change.",
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
      "Sends server-sent events. The event `status` has the new status (`{status}`), and `ended` has the final record. If the " +
      "submission has `stream`, the events `stdout` and `stderr` have the output (`{at, text}`, with the position `at` in bytes), " +
      "from the start or after `Last-Event-ID`.",
    parameters: [
      ID,
      {
        name: "Last-Event-ID",
        in: "header",
        description: "Id of the last event that the client received",
        schema: { type: "string" },
      },
    ],
    answers: [{ status: 200, description: "A stream of events", schemas: [], media: "text/event-stream" }],
    errors: ["submissionNotFound", "tooManyWatched", "noRoom"],
  },
  {
    id: "submissions",
    method: "get",
    path: "/api/submissions",
    summary: "List submissions",
    description:
      "Lists the account's submissions, newest first. A page can have fewer entries than `limit` although older submissions " +
      "follow; the list ends where `next` is null.",
    parameters: [...LISTED, withVerdict(VERDICTS)],
    answers: [{ status: 200, description: "A page of submissions", schemas: ["Submissions"] }],
    errors: ["invalidRequest"],
  },
  {
    id: "batch",
    method: "post",
    path: "/api/submissions/batch",
    summary: "Submit several programs",
    description:
      "Accepts or rejects each program independently. Each program counts against the rate limit as one request. The entries of the " +
      "response have the order of the request.",
    parameters: [],
    body: "BatchRequest",
    answers: [
      { status: 202, description: "The id of each submission, or the error that rejected it", schemas: ["Batch"] },
    ],
    errors: ["invalidRequest", ...BODY],
  },
  {
    id: "judge",
    method: "post",
    path: "/api/judge",
    summary: "Judge a program",
    description:
      "Runs a program on up to 50 cases and compares each output with `expected`. The response is sent when all cases have run. " +
      "If they have not run after 30 s, the response is 408 with the `id` of the judgement. Unlike `POST /api/judgements`, the " +
      "response has the outputs of the program.",
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
      "Runs a program on up to 500 tests, which are in the request or belong to a stored problem, and checks its outputs. Each run has a sandbox of its own. The " +
      "program is compiled once for each worker that runs tests. The first test runs alone, so that a program that does not compile is `CE` at once. The first " +
      "test, in the order of the request, that does not pass decides the verdict. Without `wait`, poll the judgement by its `id`.",
    parameters: [WAIT, IDEMPOTENCY],
    body: "JudgementRequest",
    answers: [
      { status: 200, description: "The finished judgement, with `wait=true`", schemas: ["Judgement"] },
      { status: 202, description: "The judgement is accepted", schemas: ["JudgementAccepted"], location: true },
    ],
    errors: [...JUDGED, "badWait", "badIdempotencyKey", "idempotencyConflict", "problemNotFound"],
  },
  {
    id: "judgements",
    method: "get",
    path: "/api/judgements",
    summary: "List judgements",
    description: "Lists the account's judgements, newest first.",
    parameters: [
      ...LISTED,
      withVerdict(JUDGEMENT_VERDICTS),
      query("problem", "Lists only judgements on the problem with this id, even if it has been deleted", UUID),
    ],
    answers: [{ status: 200, description: "A page of judgements", schemas: ["Judgements"] }],
    errors: ["invalidRequest"],
  },
  {
    id: "judgement",
    method: "get",
    path: "/api/judgements/{id}",
    summary: "Get a judgement",
    description:
      "Returns the current state of the judgement. The record of each run, with its evidence, is at `/api/result/{submission_id}`.",
    parameters: [JUDGEMENT_ID, WAIT],
    answers: [{ status: 200, description: "The judgement", schemas: ["Judgement"] }],
    errors: ["judgementNotFound", "judgementNotFinished", "judgementNotFinishedAtStop", "badWait"],
  },
  {
    id: "cancelJudgement",
    method: "post",
    path: "/api/judgements/{id}/cancel",
    summary: "Cancel a judgement",
    description:
      "Ends the judgement and its runs; its status becomes `error`, with the verdict IE. A finished judgement does not change.",
    parameters: [JUDGEMENT_ID],
    answers: [{ status: 200, description: "The judgement", schemas: ["Judgement"] }],
    errors: ["judgementNotFound", ...BODY],
  },
  {
    id: "rejudge",
    method: "post",
    path: "/api/judgements/{id}/rejudge",
    summary: "Judge a program again",
    description: "Creates a judgement of the same program on the same tests.",
    parameters: [JUDGEMENT_ID],
    answers: [
      { status: 202, description: "The judgement is accepted", schemas: ["JudgementAccepted"], location: true },
    ],
    errors: ["judgementNotFound", "profileForbidden", "unsupportedLanguage", "languagesUnproven", "queueFull", ...BODY],
  },
  {
    id: "judgementEvents",
    method: "get",
    path: "/api/judgements/{id}/events",
    summary: "Follow a judgement",
    description:
      "Sends server-sent events. The event `state` has the judgement; it is sent at the start and after changes, at most twice a " +
      "second. The event `ended` has the final judgement. After a lost connection, connect again: each event has the whole state.",
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
      "Imports a problem package, sent as a ZIP archive in the Kattis formats `legacy` and `2025-09`, or in the format of DMOJ. The package " +
      "becomes the current version of the problem that `name` names. Importing the same content again changes nothing. An import " +
      "counts against the rate limit as one request for each 16 MiB of its unpacked files. If its tests together are larger than " +
      "these files, because several tests use the same file, the size of the tests counts instead.",
    parameters: [
      query(
        "name",
        "Name of the problem. By default, the name of the directory in the archive that contains all files",
        { type: "string" },
      ),
      query(
        "time_limit",
        "Time limit in seconds of CPU time, which replaces that of the package. It is required if the package has none",
        {
          type: "number",
        },
      ),
    ],
    media: "application/zip",
    answers: [
      {
        status: 200,
        description: "Nothing changed: the current version has the same content",
        schemas: ["Problem"],
        location: true,
      },
      { status: 201, description: "The new version", schemas: ["Problem"], location: true },
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
    description: "Lists the account's problems, newest first.",
    parameters: LISTED.slice(-2),
    answers: [{ status: 200, description: "A page of problems", schemas: ["Problems"] }],
    errors: ["invalidRequest"],
  },
  {
    id: "problem",
    method: "get",
    path: "/api/problems/{id}",
    summary: "Get a problem",
    description: "Returns the problem with its versions, newest first.",
    parameters: [PROBLEM_ID],
    answers: [{ status: 200, description: "The problem", schemas: ["Problem"] }],
    errors: ["problemNotFound"],
  },
  {
    id: "deleteProblem",
    method: "delete",
    path: "/api/problems/{id}",
    summary: "Delete a problem",
    description: "Deletes a problem. Its judgements remain until they expire, and can be judged again.",
    parameters: [PROBLEM_ID],
    answers: [{ status: 200, description: "The problem before its deletion", schemas: ["Problem"] }],
    errors: ["problemNotFound", ...BODY],
  },
  {
    id: "languages",
    method: "get",
    path: "/api/languages",
    summary: "List the languages",
    description:
      "Lists the languages whose smoke test passed in a real sandbox. A worker runs all smoke tests at its start, and after that " +
      "one every two minutes, in turn.",
    parameters: [],
    answers: [{ status: 200, description: "The canonical names", schemas: ["Languages"] }],
    errors: [],
  },
  {
    id: "languageDetails",
    method: "get",
    path: "/api/languages/details",
    summary: "Describe the languages",
    description: "Returns the version, commands and limits of each language that `/api/languages` lists.",
    parameters: [],
    answers: [{ status: 200, description: "One object for each language", schemas: ["LanguageDetails"] }],
    errors: [],
  },
  {
    id: "health",
    method: "get",
    path: "/api/health",
    summary: "Read the load",
    description:
      "Returns how many submissions can run at the same time (`workers`), and how many are pending (`queue_depth`). A client can " +
      "send fewer requests while many are pending.",
    parameters: [],
    answers: [{ status: 200, description: "The service is healthy or degraded", schemas: ["Health"] }],
    errors: [],
  },
  {
    id: "ready",
    method: "get",
    path: "/api/health/ready",
    summary: "Check readiness",
    description: "Returns 200 only if a recent run in a real sandbox proved every control.",
    parameters: [],
    answers: [{ status: 200, description: "The service is ready", schemas: ["Ready"] }],
    errors: ["notReady"],
  },
];
