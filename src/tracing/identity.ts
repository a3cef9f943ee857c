import { createHash } from "node:crypto";
import { type SpanContext, TraceFlags } from "@opentelemetry/api";

/**
 * Derives the trace of a submission from the id of the submission, which has 128 bits like the id of a trace. All processes can therefore
 * add to the trace without communication, and users can find the trace of a submission.
 */
export function traceOf(submissionId: string): SpanContext {
  const spanId = createHash("sha256").update(submissionId).digest("hex").slice(0, 16);
  return { traceId: submissionId.replaceAll("-", ""), spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
}

/** Parses the header `traceparent` of a client (W3C Trace Context). @returns undefined if it is absent or invalid. */
export function contextOf(traceparent: string | undefined): SpanContext | undefined {
  const [, traceId = "", spanId = "", flags = ""] =
    /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/.exec(traceparent ?? "") ??
    [];
  return traceId === ""
    ? undefined
    : { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
}
