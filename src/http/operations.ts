import type { ErrorCode } from "../domain/error.ts";
import type { SchemaName } from "./schemas.ts";

/** What a client may do: the endpoints as /openapi.json and /docs tell them, each with every error it can answer. */
export interface Operation {
  readonly id: string;
  readonly method: "get" | "post";
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly body?: SchemaName;
  readonly answers: readonly Answer[];
  /** Beside those that every endpoint can answer. */
  readonly errors: readonly ErrorCode[];
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly description: string;
  readonly required?: boolean;
  readonly schema: Readonly<Record<string, unknown>>;
}

export interface Answer {
  readonly status: number;
  readonly description: string;
  /** More than one: either of them. */
  readonly schemas: readonly SchemaName[];
  readonly location?: boolean;
}

/** What any endpoint can answer: before it is asked, or instead of it. */
export const ANYWHERE: readonly ErrorCode[] = [
  "badRequest",
  "unauthorized",
  "accountSuspended",
  "httpsRequired",
  "requestTimeout",
  "expectationFailed",
  "quotaExceeded",
  "headersTooLarge",
  "internal",
  "shuttingDown",
  "databaseAway",
  "tooManyConnections",
];

/** What no endpoint answers, because there is none of that path or method, or because it is a page. */
export const ELSEWHERE: readonly ErrorCode[] = ["routeNotFound", "methodNotAllowed", "tooManyRequests"];

/** What only the dashboard answers (src/http/dashboard/): its API is the page's own, and no part of the description. */
export const DASHBOARD: readonly ErrorCode[] = [
  "bodyTooLarge",
  "notAsWanted",
  "signInNeeded",
  "signInRefused",
  "notAllowed",
  "foreignOrigin",
  "notThere",
  "linkUseless",
  "noDashboard",
  "notPossible",
  "tooManySignIns",
  "tooManyWatched",
  "playgroundClosed",
];

const UUID = { type: "string", format: "uuid" };

export const OPERATIONS: readonly Operation[] = [
  {
    id: "submit",
    method: "post",
    path: "/api/submit",
    summary: "Submit a program",
    description:
      "The submission is run in a box of its own. Without `wait`, ask for the result with its `id`; with `wait=true` " +
      "the connection is held until the run has ended, 30 s at most. A client that goes away changes nothing.",
    parameters: [
      {
        name: "wait",
        in: "query",
        description: "`true`: answer when the run has ended",
        schema: { type: "string", enum: ["true", "false"], default: "false" },
      },
      {
        name: "Idempotency-Key",
        in: "header",
        description:
          "The same request with the same key runs once: repeated, it is answered with 202 and the record as it stands. " +
          "With a fresh one, a request whose answer was lost can be sent again.",
        schema: UUID,
      },
    ],
    body: "SubmitRequest",
    answers: [
      { status: 200, description: "With `wait=true`: it has ended", schemas: ["Record"] },
      {
        status: 202,
        description: "Accepted; or, for a known Idempotency-Key, the record as it stands",
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
      "badWait",
      "unknownQuery",
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
    description: "The record as it stands. `status` is `completed` or `error` when it will not change any more.",
    parameters: [{ name: "id", in: "path", required: true, description: "As submit told it", schema: UUID }],
    answers: [{ status: 200, description: "The record", schemas: ["Record"] }],
    errors: ["submissionNotFound", "noRoom"],
  },
  {
    id: "languages",
    method: "get",
    path: "/api/languages",
    summary: "List the languages",
    description:
      "Those whose hello ran to AC in a real box: when the service started, and each again every quarter of an hour.",
    parameters: [],
    answers: [{ status: 200, description: "Canonical names", schemas: ["Languages"] }],
    errors: [],
  },
  {
    id: "health",
    method: "get",
    path: "/api/health",
    summary: "See how busy it is",
    description: "`queue_depth` tells clients by how much to back off.",
    parameters: [],
    answers: [{ status: 200, description: "Healthy or degraded", schemas: ["Health"] }],
    errors: [],
  },
  {
    id: "ready",
    method: "get",
    path: "/api/health/ready",
    summary: "See whether it can run programs",
    description: "200 only while a real run has just shown every control at work.",
    parameters: [],
    answers: [{ status: 200, description: "Ready", schemas: ["Ready"] }],
    errors: ["notReady"],
  },
];
