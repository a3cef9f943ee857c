import type { FastifyInstance, FastifyRequest } from "fastify";
import { clientError } from "../../domain/error.ts";

/**
 * Responds with 404 to an unknown path, and with 405 and `Allow` to a known path with a method that it does not have. It collects the paths
 * when they are registered, so there is no second list of them.
 * @returns the same check for a hook, so that the body of such a request is neither read nor validated.
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

/** Whether a path matches the pattern of a route, such as `/api/result/:id`. A parameter matches any segment that is not empty. */
function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split("/");
  const given = path.split("/");
  return (
    wanted.length === given.length &&
    wanted.every((segment, i) => (segment.startsWith(":") ? given[i] !== "" : segment === given[i]))
  );
}
