import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Caller } from "../domain/submission.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set once the key is known to be valid. */
    caller: Caller | null;
    /** Of the submission that the request made or asked for, once that is known to be the caller's. */
    submissionId: string | null;
  }
  interface FastifyContextConfig {
    /** No key is needed: the page is about the API, not part of it. */
    open?: boolean;
  }
}

export function decorateCaller(server: FastifyInstance): void {
  server.decorateRequest("caller", null);
  server.decorateRequest("submissionId", null);
}

/** @throws when the request did not pass authentication: a mistake of ours, not of the client. */
export function callerOf(request: FastifyRequest): Caller {
  if (!request.caller) throw new Error("a handler ran before authentication");
  return request.caller;
}
