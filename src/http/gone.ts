import type { FastifyReply } from "fastify";

/** Without a reason of our own, Node would make an error, with a stack, at the end of every answer. */
const GONE = "the client went away";

/** Aborts when the answer has left or the connection is closed. */
export function disconnected(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  if (reply.raw.closed) controller.abort(GONE);
  else reply.raw.once("close", () => controller.abort(GONE));
  return controller.signal;
}
