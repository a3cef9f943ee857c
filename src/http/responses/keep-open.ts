import type { FastifyRequest } from "fastify";

/** Restarts the time after which the listener closes a connection on which nothing is sent. */
export function keepOpen({ raw: { socket } }: FastifyRequest): void {
  if (socket.timeout !== undefined) socket.setTimeout(socket.timeout);
}

const EVERY_MS = 1_000;

/** Keeps the connection open until the returned function is called. It is for work that may have to wait for other requests. */
export function keepOpenMeanwhile(request: FastifyRequest): () => void {
  const timer = setInterval(() => keepOpen(request), EVERY_MS).unref();
  return () => clearInterval(timer);
}
