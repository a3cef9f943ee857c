import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import { type ClientError, clientError, type ErrorCode, echo, errorsReturned } from "../domain/error.ts";
import type { Caller } from "../domain/submission.ts";
import { callerOf, ownerOf } from "./access/caller.ts";
import type { ProblemImports } from "./api/import-problem.ts";
import { passBodiesOn } from "./body/streamed-body.ts";
import type { Dependencies } from "./dependencies.ts";
import type { WebSocketBudget } from "./listener/message-socket.ts";
import type { LongAnswers } from "./responses/long-answers.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The query parameters that the route has; a request with others is refused. Undefined if the route may have any. */
    query?: readonly string[];
  }
}

/** What routes need of the server. */
export interface Services {
  readonly dependencies: Dependencies;
  readonly answers: LongAnswers;
  readonly imports: ProblemImports;
  readonly sockets: WebSocketBudget;
  /** Aborts when the service stops: requests that wait must end then. */
  readonly stopping: AbortSignal;
}

/** A parameter in the path, the query or the headers of a request. */
export interface Parameter<Value = unknown> {
  readonly description: string;
  /** Validates the text of the parameter, or its absence. Its output type is what /openapi.json describes. */
  readonly schema: z.ZodType<Value>;
  /**
   * The error for a value that the schema rejects; by default `invalidRequest` with the message of the schema. Null if the schema accepts
   * every text.
   */
  readonly refuse?: { readonly code: ErrorCode; readonly error: (value: unknown) => ClientError } | null;
  /** Further errors that the parameter can cause. */
  readonly errors?: readonly ErrorCode[];
}

type Parameters = Readonly<Record<string, Parameter>>;
type ValuesOf<P extends Parameters> = { readonly [Name in keyof P]: z.output<P[Name]["schema"]> };

/** A response that is not an error. */
export interface Success<Schema extends z.ZodType = z.ZodType> {
  readonly description: string;
  /** The named schema of the JSON body, or several of which the body has one. */
  readonly body?: Schema | readonly Schema[];
  /** The type of a body that is not JSON. */
  readonly media?: string;
  /**
   * The server-sent events of which the body consists, if the request asks for them or there is no other body: the named schema of the data of each event, by the name
   * of the event. Null if the data is an empty object.
   */
  readonly events?: Readonly<Record<string, z.ZodType | null>>;
  /** Whether the response has the header Location. */
  readonly location?: true;
  /** Further headers of the response, each with its description. */
  readonly headers?: Readonly<Record<string, string>>;
}

type Successes = Readonly<Record<number, Success>>;
type BodyOf<S extends Successes> = {
  [Status in keyof S]: S[Status] extends { body: infer Body }
    ? Body extends z.ZodType
      ? z.output<Body>
      : Body extends readonly (infer One extends z.ZodType)[]
        ? z.output<One>
        : never
    : never;
}[keyof S];

/** A request of an authenticated client, with valid parameters. */
export interface Call<Path = unknown, Query = unknown, Headers = unknown> {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly caller: Caller;
  /** The owner to whom the request is charged, see ownerOf(). */
  readonly owner: string;
  readonly path: Path;
  readonly query: Query;
  readonly headers: Headers;
}

interface Declaration<P extends Parameters, Q extends Parameters, H extends Parameters, S extends Successes> {
  /** The operationId of /openapi.json. */
  readonly id: string;
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  /** The path, with parameters as in `/api/result/{id}`. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: { readonly path?: P; readonly query?: Q; readonly headers?: H };
  /**
   * The named schema of the JSON body, or the media type of another body. The handler validates the body, because many of its errors
   * depend on the caller and the languages.
   */
  readonly body?: z.ZodType | { readonly media: string };
  /** The responses other than errors, by status. */
  readonly successes: S;
  /** The errors of the handler. Those that follow from the declaration need not be named, see errorsOf(). */
  readonly errors?: readonly ErrorCode[];
  /** Limits on the body, and how the request is counted. */
  readonly config?: FastifyContextConfig;
  /** Called once for each server. @returns the handler of requests, whose result is sent as JSON unless it is the reply. */
  readonly handler: (
    services: Services,
  ) => (call: Call<ValuesOf<P>, ValuesOf<Q>, ValuesOf<H>>) => Promise<BodyOf<S> | FastifyReply>;
}

/** A route whose types of parameters and bodies are no longer known. */
export interface Route
  extends Omit<Declaration<Parameters, Parameters, Parameters, Successes>, "handler" | "parameters" | "errors"> {
  readonly parameters: { readonly path: Parameters; readonly query: Parameters; readonly headers: Parameters };
  readonly errors: readonly ErrorCode[];
  readonly handler: (services: Services) => (call: Call<never, never, never>) => Promise<unknown>;
}

/**
 * Declares a route of the API: path, parameters, bodies, errors, limits and handler in one object. The route of the server, its
 * check of the parameters, /openapi.json, the reference, the types of the clients and the tests of all routes derive from it.
 */
export function route<
  const S extends Successes,
  // biome-ignore lint/complexity/noBannedTypes: a route without such parameters has no values
  P extends Parameters = {},
  // biome-ignore lint/complexity/noBannedTypes: as above
  Q extends Parameters = {},
  // biome-ignore lint/complexity/noBannedTypes: as above
  H extends Parameters = {},
>(declaration: Declaration<P, Q, H, S>): Route {
  const { path = {}, query = {}, headers = {} } = declaration.parameters ?? {};
  const parameters = { path, query, headers };
  return { ...declaration, parameters, errors: errorsOf(declaration, parameters) };
}

/** The errors of a route: those of every route, of its body, of its parameters, and of its handler. */
function errorsOf(
  { method, body, config, errors = [] }: Pick<Route, "method" | "body" | "config"> & Partial<Pick<Route, "errors">>,
  { path, query, headers }: Route["parameters"],
): ErrorCode[] {
  const readsJson = body ? !("media" in body) : method !== "get";
  const ofBody = [
    ...(readsJson ? errorsReturned("jsonBody") : []),
    ...(config?.archive ? errorsReturned("archive") : []),
    ...((body || readsJson) && !config?.streams
      ? [config?.tooLarge ?? ("bodyTooLarge" as const), "noRoom" as const]
      : []),
  ];
  const ofParameters = [
    ...Object.values({ ...path, ...query, ...headers }).flatMap(({ refuse, errors = [] }) => [
      ...(refuse === null ? [] : [refuse?.code ?? ("invalidRequest" as const)]),
      ...errors,
    ]),
  ];
  return [...new Set([...errorsReturned("everyRoute"), ...ofBody, ...ofParameters, ...errors])];
}

/** Adds the routes to the server. */
export function addRoutes(server: FastifyInstance, routes: readonly Route[], services: Services): void {
  const [streaming, others] = [true, false].map((streams) =>
    routes.filter(({ config }) => (config?.streams === true) === streams),
  ) as [Route[], Route[]];
  addAll(server, others, services);
  void server.register(async (scope) => {
    passBodiesOn(scope);
    addAll(scope, streaming, services);
  });
}

function addAll(server: FastifyInstance, routes: readonly Route[], services: Services): void {
  for (const { method, path, parameters, config, handler } of routes) {
    const handle = handler(services);
    server.route({
      method: method.toUpperCase(),
      url: path.replaceAll(/\{(\w+)\}/g, ":$1"),
      config: { ...config, query: Object.keys(parameters.query) },
      handler: async (request, reply) => {
        try {
          const query = valuesOf(parameters.query, request.query);
          const headers = valuesOf(parameters.headers, request.headers, (name) => name.toLowerCase());
          const path = valuesOf(parameters.path, request.params);
          const call = { request, reply, caller: callerOf(request), owner: ownerOf(request), path, query, headers };
          return await handle(call as Call<never, never, never>);
        } catch (error) {
          // Otherwise the memory of a large body would stay reserved, see parseLarge() in body/body.ts.
          request.forgetBody?.();
          throw error;
        }
      },
    });
  }
}

/** @param nameIn the name of a parameter in `given`. @throws ClientError for the first value that is not valid. */
function valuesOf(parameters: Parameters, given: unknown, nameIn = (name: string) => name): Record<string, unknown> {
  const values = Object.entries(parameters).map(([name, { schema, refuse }]) => {
    const value = (given as Record<string, unknown>)[nameIn(name)];
    const parsed = schema.safeParse(value);
    if (parsed.success) return [name, parsed.data] as const;
    throw refuse?.error(value) ?? clientError("invalidRequest", [name, parsed.error.issues[0]?.message ?? ""]);
  });
  return Object.fromEntries(values);
}

/** The most unknown parameters that an error names. */
const MAX_NAMED = 5;

/** Rejects unknown parameters, because a misspelt parameter would otherwise have no effect. @throws ClientError unknownQuery. */
export function checkQuery({ query, routeOptions }: FastifyRequest): void {
  const known = routeOptions.config?.query;
  if (!known) return;
  const unknown = Object.keys(query as object).filter((name) => !known.includes(name));
  if (unknown.length > 0) throw clientError("unknownQuery", [unknown.slice(0, MAX_NAMED).map(echo).join(", ")]);
}
