import { createHash } from "node:crypto";
import { type SpanContext, TraceFlags } from "@opentelemetry/api";

/**
 * Derives the trace id from the submission id, which has 128 bits as well. All processes use the same trace without
 * communication, and users can find the trace of a submission.
 */
export function traceOf(submissionId: string): SpanContext {
  const spanId = createHash("sha256").update(submissionId).digest("hex").slice(0, 16);
  return { traceId: submissionId.replaceAll("-", ""), spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
}

/** A client's `traceparent`, by W3C Trace Context; undefined for anything else. */
export function contextOf(traceparent: string | undefined): SpanContext | undefined {
  const [, traceId = "", spanId = "", flags = ""] =
    /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/.exec(traceparent ?? "") ??
    [];
  return traceId === ""
    ? undefined
    : { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
}
