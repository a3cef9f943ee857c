import type { FastifyInstance, FastifyRequest } from "fastify";
import { clientError } from "../domain/error.ts";

/**
 * 404 for a path that no endpoint has, 405 with `Allow` for one that exists with other
 * methods. The paths are those that were registered, so there is no second list of them.
 * @returns the same as a check for a hook, because a body that nobody will read should not be
 * read either, and its faults are not what the client has to be told.
 */
export function answerUnknownRoutes(server: FastifyInstance): (request: FastifyRequest) => void {
  const methodsByPath = new Map<string, Set<string>>();
  server.addHook("onRoute", ({ url, method }) => {
    const methods = methodsByPath.get(url) ?? new Set();
    for (const one of [method].flat()) methods.add(one);
    methodsByPath.set(url, methods);
  });
  const answer = (request: FastifyRequest): never => {
    const [path = ""] = request.url.split("?");
    for (const [pattern, methods] of methodsByPath) {
      if (!matches(pattern, path)) continue;
      const allow = [...methods].sort().join(", ");
      throw clientError("methodNotAllowed", [allow], { headers: { allow } });
    }
    throw clientError("routeNotFound", []);
  };
  server.setNotFoundHandler(answer);
  return (request) => {
    if (request.is404) answer(request);
  };
}

/** Same number of segments, and each the same or a parameter (`:id`) that is not empty. */
function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split("/");
  const given = path.split("/");
  return (
    wanted.length === given.length &&
    wanted.every((segment, i) => (segment.startsWith(":") ? given[i] !== "" : segment === given[i]))
  );
}
