import type { FastifyReply, FastifyRequest } from "fastify";

const continued = new WeakSet<FastifyRequest>();

/** Whether the client waits for `100 Continue` before it sends its body. */
export function awaitsContinue(request: FastifyRequest): boolean {
  return request.headers.expect !== undefined && !continued.has(request);
}

/** Sends `100 Continue`. */
export function sayContinue(request: FastifyRequest, reply: FastifyReply): void {
  continued.add(request);
  reply.raw.writeContinue();
}
