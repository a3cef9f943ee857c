import type { IncomingHttpHeaders } from "node:http";
import type { FastifyInstance } from "fastify";
import type { ClientError } from "../domain/error.ts";
import { MCP_PATH, mcpKey } from "./mcp/conventions.ts";
import type { Services } from "./route.ts";

/** How requests below a path differ from those of our own API, because the clients of another service or protocol send them. */
export interface ForeignConventions {
  readonly path: string;
  readonly keyOf: (headers: IncomingHttpHeaders) => string | string[] | undefined;
  /** Absent if errors have the same form as in our own API. */
  readonly errorBody?: (error: ClientError) => object;
  /** The path of the route that takes a WebSocket, if there is one. */
  readonly webSocketPath?: string;
}

/** The routes of another service's API. */
export interface ForeignRoutes extends ForeignConventions {
  readonly add: (server: FastifyInstance, services: Services) => void;
}

const MCP: ForeignConventions = { path: MCP_PATH, keyOf: mcpKey };

declare module "fastify" {
  interface FastifyInstance {
    foreignPaths: ForeignPaths;
  }
}

/** Finds the conventions that hold for a request by its path. */
export class ForeignPaths {
  readonly #all: readonly ForeignConventions[];

  constructor(routes: readonly ForeignConventions[]) {
    this.#all = [MCP, ...routes];
  }

  /** @returns the conventions of the path to which the URL belongs, even if it has no such route; undefined for our own API. */
  of(url: string): ForeignConventions | undefined {
    return this.#all.find(({ path }) => url.startsWith(path) && /^[/?]?$/.test(url.charAt(path.length)));
  }

  /** Removes a slash at the end of one of these paths. The original services accept it, and their clients often send it. */
  withoutLastSlash(url: string): string {
    const [path = ""] = url.split("?", 1);
    return path.endsWith("/") && this.of(path) ? path.slice(0, -1) + url.slice(path.length) : url;
  }

  /** Whether a route with this URL takes a WebSocket. */
  takesWebSocket(url: string): boolean {
    const [path = ""] = this.withoutLastSlash(url).split("?", 1);
    return this.#all.some(({ webSocketPath }) => webSocketPath === path);
  }
}
