import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Span {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  /** In OTLP's numbering: 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly failed: boolean;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
}

/** An OpenTelemetry collector for OTLP in JSON over HTTP. */
export interface Collector {
  readonly endpoint: string;
  readonly spans: readonly Span[];
  /** All received bodies. */
  readonly text: () => string;
  readonly close: () => void;
}

export async function collector(): Promise<Collector> {
  const spans: Span[] = [];
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString("utf8");
    assert.deepEqual([request.method, request.url], ["POST", "/v1/traces"]);
    bodies.push(body);
    spans.push(...spansOf(JSON.parse(body)));
    response.setHeader("content-type", "application/json").end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { endpoint: `http://127.0.0.1:${port}`, spans, text: () => bodies.join("\n"), close };
}

// biome-ignore lint/suspicious/noExplicitAny: the tests check the received data
function spansOf({ resourceSpans }: any): Span[] {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  return resourceSpans.flatMap(({ resource, scopeSpans }: any) =>
    // biome-ignore lint/suspicious/noExplicitAny: as above
    scopeSpans.flatMap((scope: any) => scope.spans.map((span: any) => spanOf(span, resource))),
  );
}

// biome-ignore lint/suspicious/noExplicitAny: as above
function spanOf(span: any, resource: any): Span {
  return {
    service: String(attributesOf(resource.attributes)["service.name"]),
    name: span.name,
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId ?? "",
    kind: span.kind,
    startMs: Number(BigInt(span.startTimeUnixNano) / 1_000n) / 1e3,
    endMs: Number(BigInt(span.endTimeUnixNano) / 1_000n) / 1e3,
    failed: span.status?.code === 2,
    attributes: attributesOf(span.attributes),
    links: (span.links ?? []).map(({ traceId, spanId }: Span) => ({ traceId, spanId })),
  };
}

function attributesOf(attributes: readonly { key: string; value: object }[]): Record<string, string | number> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0] as string | number]));
}
