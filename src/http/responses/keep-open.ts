import type { FastifyRequest } from "fastify";

/** The listener ends a connection on which nothing is sent for longer than one wait. Lets this time begin again. */
export function keepOpen({ raw: { socket } }: FastifyRequest): void {
  if (socket.timeout !== undefined) socket.setTimeout(socket.timeout);
}

const EVERY_MS = 1_000;

/** Keeps the connection open until the returned function is called. For work whose time other requests can lengthen. */
export function keepOpenMeanwhile(request: FastifyRequest): () => void {
  const timer = setInterval(() => keepOpen(request), EVERY_MS).unref();
  return () => clearInterval(timer);
}
