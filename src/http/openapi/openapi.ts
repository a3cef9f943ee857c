import { STATUS_CODES } from "node:http";
import { ERRORS, type ErrorCode } from "../../domain/error.ts";
import { RATE_LIMIT_HEADERS } from "../access/rate-limit.ts";
import { REQUEST_ID } from "../responses/request-id.ts";
import { VERSION } from "../responses/version.ts";
import { EXAMPLES } from "./examples.ts";
import { COMMON_ERRORS, OPERATIONS, type Operation, OUTSIDE_ERRORS } from "./operations.ts";
import { componentSchemas, type SchemaName } from "./schemas.ts";

/** The API as OpenAPI 3.1, generated from the validating schemas and the list of errors. */
export interface OpenApi {
  readonly openapi: "3.1.0";
  readonly info: Readonly<Record<string, unknown>>;
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly [field: string]: unknown;
}

export function openApi(): OpenApi {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of OPERATIONS) {
    paths[operation.path] = { ...paths[operation.path], [operation.method]: describe(operation) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Assay",
      version: VERSION,
      summary: "Runs untrusted source code and returns a verdict with evidence.",
      description:
        "The API uses HTTPS and JSON. Every endpoint needs an API key in the header `X-API-Key`. Every error is JSON with the " +
        "field `error`. An unknown path returns 404. A method that a path does not have returns 405 with the header `Allow`. " +
        "HEAD returns the status and headers of GET. `POST /mcp`, which offers tools to assistants over the Model Context " +
        "Protocol, is not described here.",
    },
    servers: [{ url: "/" }],
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: { key: { type: "apiKey", in: "header", name: "X-API-Key" } },
      schemas: componentSchemas(),
      headers: {
        RequestId: {
          description:
            "Identifies the request in the log: the request's own X-Request-Id if it matches the pattern, else a new UUID",
          schema: { type: "string", pattern: REQUEST_ID.source },
        },
        RetryAfter: { description: "Seconds to wait before a retry", schema: { type: "integer", minimum: 1 } },
        Location: { description: "URL of the result", schema: { type: "string" } },
        Allow: { description: "Methods of the path", schema: { type: "string" } },
        ...Object.fromEntries(
          Object.entries(RATE_LIMIT_HEADERS).map(([name, description]) => [
            name,
            { description, schema: { type: "integer", minimum: 0 } },
          ]),
        ),
      },
      responses: Object.fromEntries(OUTSIDE_ERRORS.map((code) => [code, errorResponse([code])])),
    },
  };
}

function describe({ id, summary, description, parameters, body, media, answers, errors }: Operation) {
  const byStatus = Map.groupBy([...COMMON_ERRORS, ...errors], (code) => ERRORS[code].status);
  const failed = [...byStatus].map(([status, codes]) => [status, errorResponse(codes)] as const);
  const succeeded = answers.map(
    (answer) =>
      [
        answer.status,
        {
          description: answer.description,
          headers: {
            "X-Request-Id": header("RequestId"),
            ...RATE_LIMIT,
            ...(answer.location && { Location: header("Location") }),
          },
          content: answer.media
            ? { [answer.media]: { schema: { type: "string" } } }
            : json({ schema: eitherOf(answer.schemas) }),
        },
      ] as const,
  );
  return {
    operationId: id,
    summary,
    description,
    parameters,
    ...(media && {
      requestBody: { required: true, content: { [media]: { schema: { type: "string", format: "binary" } } } },
    }),
    ...(body && { requestBody: { required: true, content: json({ schema: eitherOf([body]) }) } }),
    responses: Object.fromEntries([...succeeded, ...failed]),
  };
}

/** The response for all errors with the same status, with an example of each error. */
function errorResponse(codes: readonly ErrorCode[]) {
  const examples = codes.map((code) => [code, EXAMPLES[code]] as const);
  const status = examples[0]?.[1].status ?? 500;
  const headers = new Set(examples.flatMap(([, { headers }]) => Object.keys(headers)));
  return {
    description: examples.map(([, { body }]) => body.error).join("; ") || (STATUS_CODES[status] ?? ""),
    headers: {
      "X-Request-Id": header("RequestId"),
      ...(headers.has("retry-after") && { "Retry-After": header("RetryAfter") }),
      ...(codes.includes("quotaExceeded") && RATE_LIMIT),
      ...(headers.has("allow") && { Allow: header("Allow") }),
    },
    content: json({
      schema: eitherOf([...new Set(codes.map((code) => BODIES[code] ?? "Error"))]),
      examples: Object.fromEntries(examples.map(([code, { body }]) => [code, { value: body }])),
    }),
  };
}

const RATE_LIMIT = Object.fromEntries(Object.keys(RATE_LIMIT_HEADERS).map((name) => [name, header(name)]));

function header(name: string) {
  return { $ref: `#/components/headers/${name}` };
}

function json(media: object) {
  return { "application/json": media };
}

function eitherOf(names: readonly SchemaName[]) {
  const references = names.map((name) => ({ $ref: `#/components/schemas/${name}` }));
  return references.length === 1 ? references[0] : { anyOf: references };
}

/** The schemas of errors that have other fields than `error` and `message`. */
const BODIES: Partial<Record<ErrorCode, SchemaName>> = {
  notFinished: "NotFinished",
  notFinishedAtStop: "NotFinished",
  judgementNotFinished: "NotFinished",
  judgementNotFinishedAtStop: "NotFinished",
  notReady: "NotReady",
};
