import { STATUS_CODES } from "node:http";
import { z } from "zod";
import { ERRORS, type ErrorCode, errorExample, errorRow, errorsReturned } from "../../domain/error.ts";
import { RATE_LIMIT_HEADERS } from "../access/rate-limit.ts";
import { ROUTES } from "../api/routes.ts";
import { componentSchemas, nameOf } from "../named-schemas.ts";
import { REQUEST_ID } from "../responses/request-id.ts";
import { VERSION } from "../responses/version.ts";
import type { Route, Success } from "../route.ts";

/** The API as OpenAPI 3.1, generated from the declarations of the routes and the list of errors. */
export interface OpenApi {
  readonly openapi: "3.1.0";
  readonly info: Readonly<Record<string, unknown>>;
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly [field: string]: unknown;
}

export function openApi(): OpenApi {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of ROUTES) {
    paths[route.path] = { ...paths[route.path], [route.method]: describe(route) };
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
      responses: Object.fromEntries(errorsReturned("unknownRoute").map((code) => [code, errorResponse([code])])),
    },
  };
}

function describe({ id, summary, description, parameters, body, successes, errors }: Route) {
  const byStatus = Map.groupBy(errors, (code) => ERRORS[code].status);
  const failed = [...byStatus].map(([status, codes]) => [status, errorResponse(codes)] as const);
  const succeeded = Object.entries(successes).map(
    ([status, { description, body, media, events, location, headers }]) =>
      [
        status,
        {
          description,
          headers: {
            "X-Request-Id": header("RequestId"),
            ...RATE_LIMIT,
            ...(location && { Location: header("Location") }),
            ...headersOf(headers),
          },
          ...((body || media || events) && {
            content: {
              ...(body && json({ schema: eitherOf([body].flat().map(nameOf)) })),
              ...(media && { [media]: TEXT }),
              ...(events && { [EVENT_STREAM]: { ...TEXT, "x-events": eventsOf(events) } }),
            },
          }),
        },
      ] as const,
  );
  return {
    operationId: id,
    summary,
    description,
    parameters: parametersOf(parameters),
    ...(body && { requestBody: { required: true, content: contentOf(body) } }),
    responses: Object.fromEntries([...succeeded, ...failed]),
  };
}

function headersOf(headers: Success["headers"] = {}) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: "string" } }]),
  );
}

/** The media type of server-sent events. */
export const EVENT_STREAM = "text/event-stream";

/** OpenAPI has no words for the events of a stream before version 3.2, so an extension has the schema of the JSON in the data of each event. */
function eventsOf(events: NonNullable<Success["events"]>) {
  return Object.fromEntries(
    Object.entries(events).map(([name, data]) => [
      name,
      data ? eitherOf([nameOf(data)]) : { type: "object", additionalProperties: false },
    ]),
  );
}

const TEXT = { schema: { type: "string" } };

function contentOf(body: NonNullable<Route["body"]>) {
  if ("media" in body) return { [body.media]: { schema: { type: "string", format: "binary" } } };
  return json({ schema: eitherOf([nameOf(body)]) });
}

/** A parameter as /openapi.json describes it. */
export interface ParameterObject {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly description: string;
  readonly required?: true;
  readonly schema: Readonly<Record<string, unknown>>;
}

/** The parameters of a route: those of the path first, then the query and the headers. */
export function parametersOf({ path, query, headers }: Route["parameters"]): ParameterObject[] {
  const objects = (location: ParameterObject["in"], parameters: Route["parameters"]["path"]) =>
    Object.entries(parameters).map(([name, { description, schema }]) => {
      const { $schema: _, ...json } = z.toJSONSchema(schema, { target: "draft-2020-12" });
      return { name, in: location, description, ...(location === "path" && { required: true as const }), schema: json };
    });
  return [...objects("path", path), ...objects("query", query), ...objects("header", headers)];
}

/** The response for all errors with the same status, with an example of each error. */
function errorResponse(codes: readonly ErrorCode[]) {
  const examples = codes.map((code) => [code, errorExample(code)] as const);
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
      schema: eitherOf([...new Set(codes.map((code) => errorRow(code).schema ?? "Error"))]),
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

function eitherOf(names: readonly string[]) {
  const references = names.map((name) => ({ $ref: `#/components/schemas/${name}` }));
  return references.length === 1 ? references[0] : { anyOf: references };
}

/** The schema of each body of a request or of a success, by its name. It has no references to others. */
export function bodySchemas(): Record<string, Record<string, unknown>> {
  const bodies = ROUTES.flatMap(({ body, successes }) => [
    ...(body && !("media" in body) ? [body] : []),
    ...Object.values(successes).flatMap(({ body: success, events }) => [
      ...[success ?? []].flat(),
      ...Object.values(events ?? {}).filter((data) => data !== null),
    ]),
  ]);
  const named = [...new Set(bodies)].map((schema) => {
    const { $schema: _, ...json } = z.toJSONSchema(schema, { target: "draft-2020-12" });
    return [nameOf(schema), json] as const;
  });
  return Object.fromEntries(named);
}
