import type { FastifyReply, FastifyRequest } from "fastify";
import type { Meter } from "../../domain/meter.ts";
import { METHODS, STATUS_CLASSES } from "../../domain/metrics.ts";
import type { Tracer } from "../../domain/tracer.ts";

/** Measures the duration of a response. Its label is the pattern of the route, because the client chooses the rest of a path. */
export function measure(meter: Meter, request: FastifyRequest, reply: FastifyReply): void {
  const { url } = request.routeOptions;
  const held = (request.query as { wait?: unknown } | undefined)?.wait === "true" && request.caller !== null;
  const route = url === undefined ? "none" : held && url === "/api/submit" ? `${url}?wait=true` : url;
  const method = METHODS.find((one) => one === request.method) ?? "other";
  const status = STATUS_CLASSES[Math.floor(reply.statusCode / 100) - 1] ?? "5xx";
  meter.time("requests", { route, method, status }, reply.elapsedTime / 1000);
}

/** Traces a request, as a part of the trace that the client began if it sent `traceparent`. */
export function follow(tracer: Tracer | undefined, request: FastifyRequest, reply: FastifyReply): void {
  if (!tracer) return;
  const { traceparent } = request.headers;
  const endMs = Date.now();
  tracer.answered({
    method: METHODS.find((one) => one === request.method) ?? "other",
    route: request.routeOptions.url,
    status: reply.statusCode,
    requestId: request.id,
    traceparent: typeof traceparent === "string" ? traceparent : undefined,
    submissionId: request.submissionId ?? undefined,
    startMs: endMs - reply.elapsedTime,
    endMs,
  });
}
