import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import type { AuditActor } from "../../domain/audit.ts";
import { ownerOf } from "../access/caller.ts";
import { passBodiesOn } from "../body/streamed-body.ts";
import type { StreamBudget } from "../responses/stream-budget.ts";
import type { Services } from "../route.ts";
import type { DashboardDependencies } from "./dependencies.ts";
import { bodyOf, queryOf } from "./parse.ts";
import type { Passwords } from "./passwords.ts";
import type { Provider } from "./provider.ts";
import { actorOf, type Needed, personOf, type SessionGuard, type SignedIn } from "./session.ts";

/** The path below which the dashboard's API is. */
export const API = "/dashboard/api";

/** What the routes of the dashboard need of the server. */
export interface DashboardServices extends Services {
  readonly dependencies: DashboardDependencies;
  /** The streams that people have open. */
  readonly streams: StreamBudget;
  readonly sessions: SessionGuard;
  readonly passwords: Passwords;
  /** Null if people can sign in only with passwords. */
  readonly provider: Provider | null;
}

/** The names of the parameters in a path such as `/keys/{id}`. */
type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

/** A request with a valid session, query and body. */
export interface DashboardCall<Path extends string = string, Query = unknown, Body = unknown> {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** The person who is signed in. A route that needs no session must not read it. */
  readonly person: SignedIn;
  /** The person as the author of changes, for the audit trail. */
  readonly actor: AuditActor;
  /** The owner to whom the request is charged, see ownerOf(). */
  readonly owner: string;
  /** The parameters of the path, which are not validated. */
  readonly path: Readonly<Record<NamesIn<Path>, string>>;
  readonly query: Query;
  readonly body: Body;
}

interface Declaration<Path extends string, Query extends z.ZodType, Body extends z.ZodType> {
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  /** The path below API, with parameters as in `/keys/{id}`. */
  readonly path: Path;
  /** The rank that the session must have. */
  readonly session: Exclude<Needed, "page">;
  /** Validates the query; without it, the query is not read. */
  readonly query?: Query;
  readonly body?: Body;
  readonly bodyLimit?: number;
  /** Limits on the body, and which of its members are stored as bytes. */
  readonly config?: Omit<FastifyContextConfig, "session">;
  /** Called once for each server. @returns the handler of requests, whose result is sent as JSON unless it is the reply. */
  readonly handler: (
    services: DashboardServices,
  ) => (call: DashboardCall<Path, z.output<Query>, z.output<Body>>) => Promise<unknown>;
}

/** A route of the dashboard's API whose types of parameters and bodies are no longer known. */
export interface DashboardRoute extends Omit<Declaration<string, z.ZodType, z.ZodType>, "handler"> {
  readonly handler: (services: DashboardServices) => (call: never) => Promise<unknown>;
}

/**
 * Declares a route of the dashboard's API, as route() declares one of the public API: path, session, query, body, limits and handler in
 * one object. These routes are only for the dashboard's pages, so they have no documentation; their answers have the types in api/.
 */
export function dashboardRoute<
  const Path extends string,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
>(declaration: Declaration<Path, Query, Body>): DashboardRoute {
  return declaration;
}

/** Adds the routes to the server. */
export function addDashboardRoutes(
  server: FastifyInstance,
  routes: readonly DashboardRoute[],
  services: DashboardServices,
): void {
  const streams = (route: DashboardRoute) => route.config?.streams === true;
  addAll(
    server,
    routes.filter((route) => !streams(route)),
    services,
  );
  void server.register(async (scope) => {
    passBodiesOn(scope);
    addAll(scope, routes.filter(streams), services);
  });
}

function addAll(server: FastifyInstance, routes: readonly DashboardRoute[], services: DashboardServices): void {
  for (const { method, path, session, query, body, bodyLimit, config, handler } of routes) {
    const handle = handler(services);
    server.route({
      method: method.toUpperCase(),
      url: API + path.replaceAll(/\{(\w+)\}/g, ":$1"),
      config: { ...config, session },
      ...(bodyLimit !== undefined && { bodyLimit }),
      handler: async (request, reply) => {
        const call: DashboardCall = {
          request,
          reply,
          get person() {
            return personOf(request);
          },
          get actor() {
            return actorOf(request);
          },
          owner: ownerOf(request),
          path: request.params as Readonly<Record<string, string>>,
          query: query && queryOf(request, query),
          body: body && bodyOf(request, body),
        };
        return await handle(call as never);
      },
    });
  }
}
