import type { FastifyReply } from "fastify";

/** Without a reason of our own, Node would make an error, with a stack, at the end of every answer. */
const GONE = "the client went away";

const signals = new WeakMap<FastifyReply["raw"], AbortSignal>();

/** Aborts when the answer has left or the connection is closed. One signal, and one listener, for each answer. */
export function disconnected({ raw }: FastifyReply): AbortSignal {
  const known = signals.get(raw);
  if (known) return known;
  const controller = new AbortController();
  signals.set(raw, controller.signal);
  if (raw.closed) controller.abort(GONE);
  else raw.once("close", () => controller.abort(GONE));
  return controller.signal;
}
