import type { FastifyReply } from "fastify";

/** The reason of the abort. Without it, Node would create an error with a stack at the end of every response. */
const GONE = "the client disconnected";

const signals = new WeakMap<FastifyReply["raw"], AbortSignal>();

/**
 * A signal that aborts when the response has been sent or the connection is closed. All calls for a response return the same signal, which
 * needs only one listener.
 */
export function disconnected({ raw }: FastifyReply): AbortSignal {
  const known = signals.get(raw);
  if (known) return known;
  const controller = new AbortController();
  signals.set(raw, controller.signal);
  if (raw.closed) controller.abort(GONE);
  else raw.once("close", () => controller.abort(GONE));
  return controller.signal;
}
