import type { ErrorCode } from "../domain/error.ts";
import type { SchemaName } from "./schemas.ts";

/** The endpoints in /openapi.json and /docs, each with every error that it can return. */
export interface Operation {
  readonly id: string;
  readonly method: "get" | "post";
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly body?: SchemaName;
  readonly answers: readonly Answer[];
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

export interface Answer {
  readonly status: number;
  readonly description: string;
  /** If several, any of them. */
  readonly schemas: readonly SchemaName[];
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
  "bodyTooLarge",
  "invalidRequest",
  "signInNeeded",
  "signInRefused",
  "notAllowed",
  "foreignOrigin",
  "notFound",
  "linkInvalid",
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
      "The program runs in a sandbox of its own. Without `wait`, poll the result by its `id`. With `wait=true`, the " +
      "response is sent when the run has ended, after 30 s at most. The run continues if the client disconnects.",
    parameters: [
      {
        name: "wait",
        in: "query",
        description: "`true`: respond when the run has ended",
        schema: { type: "string", enum: ["true", "false"], default: "false" },
      },
      {
        name: "Idempotency-Key",
        in: "header",
        description:
          "A request with the same key runs once; a repeated request returns 202 and the current record. Use a new key for " +
          "each submission, so that a request can be repeated when its response is lost.",
        schema: UUID,
      },
    ],
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
    parameters: [{ name: "id", in: "path", required: true, description: "Id of the submission", schema: UUID }],
    answers: [{ status: 200, description: "The record", schemas: ["Record"] }],
    errors: ["submissionNotFound", "noRoom"],
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
