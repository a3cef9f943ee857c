import type { IncomingMessage, ServerResponse } from "node:http";

const timers = new WeakMap<IncomingMessage, NodeJS.Timeout>();

/**
 * Limits the time in which the body of a request must arrive. A request without a body has no time limit.
 * @param expired called with the error that Node itself has for such a request, if the time is over.
 */
export function limitTime(
  request: IncomingMessage,
  response: ServerResponse,
  limitMs: number,
  expired: (error: Error) => void,
): void {
  const { "content-length": length = "0", "transfer-encoding": encoding } = request.headers;
  if (length === "0" && encoding === undefined) return;
  const end = () => {
    if (request.complete || request.socket.destroyed) return;
    expired(Object.assign(new Error("the body did not arrive in time"), { code: "ERR_HTTP_REQUEST_TIMEOUT" }));
  };
  const timer = setTimeout(end, limitMs).unref();
  timers.set(request, timer);
  response.once("close", () => clearTimeout(timer));
}

/** Lifts the time limit of a body. The caller must end a request whose client sends nothing for long. */
export function withoutTimeLimit(request: IncomingMessage): void {
  clearTimeout(timers.get(request));
}
