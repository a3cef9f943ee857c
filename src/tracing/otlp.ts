import {
  type Attributes,
  type Context,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, type IdGenerator, RandomIdGenerator, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Logger } from "pino";
import type { Outcome } from "../domain/outcome.ts";
import type { Submission } from "../domain/submission.ts";
import type { TracedAttempt, TracedRequest, TracedRun, Tracer } from "../domain/tracer.ts";
import { contextOf, traceOf } from "./identity.ts";

/** These values bound the memory that spans use if the collector does not respond, and the delay that this causes at shutdown. */
const MAX_WAITING_SPANS = 8_192;
const EVERY_MS = 5_000;
const EXPORT_MS = 5_000;
const LAST_EXPORT_MS = 2_000;

export interface OtlpOptions {
  /** Base URL of the OTLP/HTTP collector; `/v1/traces` is added. */
  readonly endpoint: string;
  readonly version: string;
  /** The name of the service in traces: `assay` or `assay-worker`. */
  readonly service: string;
  readonly log: Logger;
  /** Interval between exports, if not the default. */
  readonly everyMs?: number;
}

/**
 * Sends spans to an OpenTelemetry collector. Each submission has one trace, to which all processes contribute. The spans contain ids,
 * routes, languages, verdicts and times, but no code, input, output or addresses. No other file of the service sends spans.
 */
export class Otlp implements Tracer {
  readonly #log: Logger;
  readonly #provider: TracerProvider;
  readonly #ids = new GivenIds();

  constructor({ endpoint, version, service, log, everyMs = EVERY_MS }: OtlpOptions) {
    this.#log = log;
    const warn = (message: string, ...more: unknown[]) => log.warn({ about: "tracing", more }, message);
    const logger = { error: warn, warn: warn, info: () => {}, debug: () => {}, verbose: () => {} };
    diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
    const exporter = new OTLPTraceExporter({
      url: `${endpoint.replace(/\/$/, "")}/v1/traces`,
      timeoutMillis: EXPORT_MS,
    });
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({ "service.name": service, "service.version": version }),
      spanProcessors: [
        new BatchSpanProcessor({
          exporter,
          maxQueueSize: MAX_WAITING_SPANS,
          scheduledDelayMillis: everyMs,
          exportTimeoutMillis: EXPORT_MS,
        }),
      ],
      idGenerator: this.#ids,
    });
  }

  /** Records a span in the client's trace, if the client sent one, with a link to the submission's trace. */
  answered({ method, route, status, requestId, traceparent, submissionId, startMs, endMs }: TracedRequest): void {
    const parent = contextOf(traceparent);
    const attributes: Attributes = {
      "http.request.method": method,
      "http.response.status_code": status,
      "assay.request_id": requestId,
      ...(route !== undefined && { "http.route": route }),
      ...(submissionId !== undefined && { "assay.submission_id": submissionId }),
    };
    const links = submissionId === undefined ? [] : [{ context: traceOf(submissionId) }];
    const name = route === undefined ? method : `${method} ${route}`;
    this.#span(
      { name, kind: SpanKind.SERVER, attributes, links, startMs, endMs, failed: status >= 500 },
      under(parent),
    );
  }

  ran(submission: Submission, { outcome, workerId, attempt, startMs, endMs }: TracedRun): void {
    const attributes = {
      ...about(submission),
      ...judged(outcome),
      "assay.worker_id": workerId,
      "assay.attempt": attempt,
      ...(outcome.metrics && {
        "assay.cpu_usec": outcome.metrics.cpuUsec,
        "assay.wall_ms": outcome.metrics.wallNs / 1e6,
        "assay.memory_peak_bytes": outcome.metrics.memoryPeakBytes,
      }),
    };
    const failed = outcome.status === "error";
    this.#span({ name: "run", attributes, startMs, endMs, failed }, under(traceOf(submission.id)));
  }

  ended(submission: Submission, outcome: Outcome, endMs: number): void {
    const { id, createdAtMs, startedAtMs } = submission;
    const attributes = { ...about(submission), ...judged(outcome) };
    const failed = outcome.status === "error";
    this.#ids.next = traceOf(id);
    this.#span({ name: "submission", attributes, startMs: createdAtMs, endMs, failed }, ROOT_CONTEXT);
    this.#ids.next = undefined;
    const queued = { name: "queued", attributes: about(submission), startMs: createdAtMs, failed: false };
    if (startedAtMs !== null) this.#span({ ...queued, endMs: startedAtMs }, under(traceOf(id)));
  }

  attempted({ submissionId, deliveryId, endpointId, attempt, status, nextState, startMs, endMs }: TracedAttempt): void {
    const attributes = {
      "assay.delivery_id": deliveryId,
      "assay.endpoint_id": endpointId,
      "assay.attempt": attempt,
      "assay.became": nextState,
      ...(status !== null && { "http.response.status_code": status }),
    };
    const span = {
      name: "webhook",
      kind: SpanKind.CLIENT,
      attributes,
      startMs,
      endMs,
      failed: nextState !== "delivered",
    };
    this.#span(span, under(traceOf(submissionId)));
  }

  /** Exports the remaining spans. Resolves after at most `LAST_EXPORT_MS`. */
  async close(): Promise<void> {
    const timeout = new Promise<void>((resolve) => setTimeout(resolve, LAST_EXPORT_MS).unref());
    const sent = this.#provider.shutdown().catch((error) => this.#log.warn({ err: error }, "the last spans were lost"));
    await Promise.race([sent, timeout]);
  }

  #span(
    { name, kind = SpanKind.INTERNAL, attributes, links = [], startMs, endMs, failed }: Done,
    parent: Context,
  ): void {
    const span = this.#provider
      .getTracer("assay")
      .startSpan(name, { kind, attributes, links, startTime: startMs }, parent);
    if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(Math.max(endMs, startMs)); // a clock may step back
  }
}

interface Done {
  readonly name: string;
  readonly kind?: SpanKind;
  readonly attributes: Attributes;
  readonly links?: { context: SpanContext }[];
  readonly startMs: number;
  readonly endMs: number;
  readonly failed: boolean;
}

/** Generates random ids, except for the root span of a submission, whose id follows from the submission's id. */
class GivenIds implements IdGenerator {
  next: SpanContext | undefined;
  readonly #random = new RandomIdGenerator();

  generateTraceId(): string {
    return this.next?.traceId ?? this.#random.generateTraceId();
  }

  generateSpanId(): string {
    return this.next?.spanId ?? this.#random.generateSpanId();
  }
}

function under(parent: SpanContext | undefined): Context {
  return parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
}

function about({ id, language, profile }: Submission): Attributes {
  return { "assay.submission_id": id, "assay.language": language, "assay.profile": profile };
}

function judged({ result }: Outcome): Attributes {
  return { "assay.verdict": result.verdict, "assay.cause": result.cause, "assay.actor": result.actor };
}
