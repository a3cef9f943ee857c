import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Caller } from "../../domain/submission.ts";
import { network } from "../listener/network.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Null until the key has been validated, and for requests without a key. */
    caller: Caller | null;
    /** The submission that the request created or asked for, once it is known to belong to the caller. */
    submissionId: string | null;
  }
  interface FastifyContextConfig {
    /** Whether the route needs no key, because it documents the API and is not part of it. */
    open?: boolean;
    /** Whether the route, although it is a GET, starts a program, so that it counts against the rate limit like a POST. */
    submits?: boolean;
  }
}

export function decorateCaller(server: FastifyInstance): void {
  server.decorateRequest("caller", null);
  server.decorateRequest("submissionId", null);
}

/** @throws when the request was not authenticated: a programming error, not a client error. */
export function callerOf(request: FastifyRequest): Caller {
  if (!request.caller) throw new Error("a handler ran before authentication");
  return request.caller;
}

/** The owner to whom a request is charged: the account of the key, otherwise the person who is signed in, otherwise the network of the client. */
export function ownerOf({ caller, person, ip }: Pick<FastifyRequest, "caller" | "person" | "ip">): string {
  if (caller) return `account ${caller.accountId}`;
  return person ? `person ${person.id}` : `address ${network(ip)}`;
}
