import type { FastifyRequest } from "fastify";

/** Restarts the time limit after which the listener closes a connection on which nothing is transferred. */
export function keepOpen({ raw: { socket } }: FastifyRequest): void {
  if (socket.timeout !== undefined) socket.setTimeout(socket.timeout);
}

const EVERY_MS = 1_000;

/** Keeps the connection of a request open while the request waits for others. @returns a function that ends this. */
export function keepOpenMeanwhile(request: FastifyRequest): () => void {
  const timer = setInterval(() => keepOpen(request), EVERY_MS).unref();
  return () => clearInterval(timer);
}
