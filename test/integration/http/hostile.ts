import fc from "fast-check";
import { bodySchemas, type OpenApi } from "../../../src/http/openapi/openapi.ts";

/** A request as sent over the wire; in `target` and headers, each character is one byte. */
export interface Wire {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly Header[];
  readonly body: Buffer | null;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: Schema;
}

export interface Schema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly const?: unknown;
}

export interface Endpoint {
  readonly path: string;
  readonly method: string;
  readonly parameters: readonly Parameter[];
  readonly body: Schema | undefined;
}

/** Known valid values, so that not every request fails the first check. */
export interface Known {
  readonly keys: readonly string[];
  readonly ids: readonly string[];
  readonly words: Readonly<Record<string, readonly string[]>>;
}

export function endpoints({ paths }: OpenApi): Endpoint[] {
  const schemas = bodySchemas();
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => {
      const operation = described as { parameters: Parameter[]; requestBody?: { content: Content } };
      const reference = operation.requestBody?.content["application/json"]?.schema.$ref;
      const body = schemas[reference?.split("/").at(-1) ?? ""] as Schema | undefined;
      return { path, method: method.toUpperCase(), parameters: operation.parameters, body };
    }),
  );
}

type Content = Record<string, { schema: { $ref: string } }>;
type Header = readonly [name: string, value: string];

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "PROPFIND", "get", "X"];

const TEXTS = [
  "",
  "\0",
  "__proto__",
  "constructor",
  "../../etc/passwd",
  "%",
  "%00",
  "%2e%2e%2f",
  "%c0%af",
  "%ff",
  "'; drop table submissions; --",
  "{{7*7}}",
  "\u202e\u{1f600}",
  "-1",
  "1e400",
  "NaN",
  "true",
  "a".repeat(300),
  "a".repeat(5_000),
];

const NUMBERS = [0, -0, -1, 1e308, Number.MAX_SAFE_INTEGER, 0.1];

const LONG = fc.constantFrom(1_000, 65_535, 65_536, 65_537, 262_144, 262_145);

const hostileText = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...TEXTS) },
  { weight: 4, arbitrary: fc.string({ unit: "binary", maxLength: 30 }) },
  { weight: 1, arbitrary: fc.tuple(LONG, fc.constantFrom("x", "ü", "\0", "\n")).map(([n, c]) => c.repeat(n)) },
  { weight: 1, arbitrary: fc.constantFrom("\ud800", "a\udfffb", "\udc00\ud800") },
);

const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  hostileText,
  fc.constantFrom(...NUMBERS),
  fc.boolean(),
  fc.constant(null),
  fc.array(hostileText, { maxLength: 3 }),
  fc.dictionary(hostileText, hostileText, { maxKeys: 3 }),
);

/** A value that the schema allows. */
function valid(name: string, schema: Schema, known: Known): fc.Arbitrary<string> {
  const words = known.words[name];
  if (words) return fc.constantFrom(...words);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.format === "uuid") return fc.oneof(fc.uuid(), fc.constantFrom(...known.ids));
  return fc.string({ minLength: schema.minLength ?? 0, maxLength: Math.min(schema.maxLength ?? 50, 50) });
}

function validMember(name: string, schema: Schema, known: Known): fc.Arbitrary<unknown> {
  if (schema.anyOf) return whole(schema, known);
  if (schema.type === "boolean") return fc.boolean();
  if (schema.items?.properties) return fc.array(object(schema.items, known), { maxLength: 3 });
  if (schema.type === "array") return fc.array(fc.string({ maxLength: 20 }), { maxLength: 3 });
  if (schema.type === "object") return fc.dictionary(fc.constantFrom("a", "b/c", ".d"), fc.string({ maxLength: 20 }));
  return valid(name, schema, known);
}

/** A whole body, or a member that can be of several forms. */
function whole(schema: Schema, known: Known): fc.Arbitrary<unknown> {
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((one) => whole(one, known)));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.items?.properties) return fc.array(object(schema.items, known), { maxLength: 3 });
  return schema.properties ? object(schema, known) : validMember("", schema, known);
}

function object(schema: Schema, known: Known): fc.Arbitrary<unknown> {
  const fields = Object.entries(schema.properties ?? {});
  const shape = Object.fromEntries(fields.map(([name, field]) => [name, validMember(name, field, known)]));
  // With all of the fields that exclude each other, no body would be valid.
  const isUsual = (name: string) =>
    (schema.required?.includes(name) ?? false) || ["code", "stdin", "profile"].includes(name);
  const pick = (usual: boolean) =>
    Object.fromEntries(Object.entries(shape).filter(([name]) => isUsual(name) === usual));
  const whole = fc.record(pick(true), { requiredKeys: [...(schema.required ?? [])] });
  const rare = pick(false);
  const names = fc.constantFrom(...fields.map(([name]) => name));
  return fc.oneof(
    { weight: 5, arbitrary: whole },
    {
      weight: 2,
      arbitrary: fc.tuple(whole, fc.record(rare, { requiredKeys: [] })).map(([o, more]) => ({ ...o, ...more })),
    },
    { weight: 2, arbitrary: fc.tuple(whole, names, hostileValue).map(([o, name, value]) => ({ ...o, [name]: value })) },
    {
      weight: 1,
      arbitrary: fc.tuple(whole, hostileText, hostileValue).map(([o, name, value]) => ({ ...o, [name]: value })),
    },
    { weight: 1, arbitrary: fc.tuple(whole, names).map(([o, name]) => without(o, name)) },
    { weight: 1, arbitrary: hostileValue },
  );
}

function without(value: object, name: string): object {
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== name));
}

const RAW_BODIES = [
  "",
  "{",
  "null",
  "[[[[[[",
  `${"[".repeat(50_000)}`,
  `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`,
  '{"language":"python","code":"a","code":"b"}',
  '{"__proto__":{"language":"python"},"code":"x"}',
  '{"language":"python","code":1e999}',
  `{"language":"python","code":${"9".repeat(4_000)}}`,
  '{"language":"python","code":"\\ud800"}',
  '{"language":"python","code":"\\u0000"}',
  '\ufeff{"language":"python","code":"x"}',
  '{"language":"python","code":"x"} {"language":"python","code":"x"}',
  "language=python&code=x",
  "<a/>",
];

/** Larger than any valid body. */
const TOO_LARGE = Buffer.alloc(4_400_000, "x");

function body(schema: Schema | undefined, known: Known): fc.Arbitrary<Buffer | null> {
  if (!schema) return fc.constantFrom(null, null, null, null, Buffer.from("{}"), Buffer.from("x"));
  const value = whole(schema, known);
  const json = value.map((value) => Buffer.from(JSON.stringify(value) ?? ""));
  return fc.oneof(
    { weight: 14, arbitrary: json },
    { weight: 2, arbitrary: fc.constantFrom(...RAW_BODIES).map((text) => Buffer.from(text)) },
    { weight: 1, arbitrary: fc.tuple(json, fc.nat()).map(([bytes, at]) => bytes.subarray(0, at % (bytes.length + 1))) },
    { weight: 1, arbitrary: fc.tuple(json, fc.nat(), fc.nat(255)).map(([bytes, at, to]) => flipped(bytes, at, to)) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
    { weight: 1, arbitrary: fc.constantFrom(...Array.from({ length: 30 }, () => null), TOO_LARGE) },
  );
}

function flipped(bytes: Buffer, at: number, to: number): Buffer {
  const copy = Buffer.from(bytes);
  if (copy.length > 0) copy[at % copy.length] = to;
  return copy;
}

const PATHS = [
  "/",
  "/api",
  "/api/",
  "/api/submit/",
  "//api/health",
  "/API/HEALTH",
  "/api/result",
  "/api/result/a/b",
  "*",
];
const PAGES = [
  ...["/docs", "/docs/page.js", "/openapi.json", "/favicon.ico", "/docs/../openapi.json"],
  ...[
    "/dashboard/",
    "/dashboard/api/session",
    "/dashboard/api/me",
    "/dashboard/api/invitations/look",
    "/dashboard/%2e%2e/x",
  ],
];

function target({ path, parameters }: Endpoint, known: Known): fc.Arbitrary<string> {
  const places = parameters.filter(({ in: where }) => where === "path");
  const filled = fc
    .tuple(...places.map(({ name, schema }) => fc.oneof(valid(name, schema, known), hostileText)))
    .map((values) =>
      places.reduce((text, { name }, i) => text.replace(`{${name}}`, () => encode(values[i] ?? "")), path),
    );
  const asked = parameters.filter(({ in: where }) => where === "query");
  const pairs = asked.map(({ name, schema }) =>
    fc.tuple(fc.constant(name), fc.oneof({ weight: 4, arbitrary: valid(name, schema, known) }, hostileText)),
  );
  const odd = fc.tuple(hostileText, hostileText);
  const query = fc
    .array(pairs.length > 0 ? fc.oneof({ weight: 6, arbitrary: fc.oneof(...pairs) }, odd) : odd, { maxLength: 2 })
    .map((list) => list.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&"));
  return fc.oneof(
    { weight: 20, arbitrary: filled },
    { weight: 10, arbitrary: fc.tuple(filled, query).map(([text, asks]) => `${text}?${asks}`) },
    { weight: 1, arbitrary: fc.constantFrom(...PATHS, ...PAGES) },
    { weight: 1, arbitrary: hostileText.map((text) => `/${encode(text)}`) },
    { weight: 1, arbitrary: hostileText.map((text) => `/${latin(text)}`) },
  );
}

/** Usually percent-encoded, sometimes raw. */
function encode(text: string): string {
  return text.length % 7 === 3 ? latin(text) : encodeURIComponent(text.toWellFormed());
}

/** Raw bytes without those that would end the request line. */
function latin(text: string): string {
  return Buffer.from(text.toWellFormed())
    .toString("latin1")
    .replaceAll(/[\r\n ]/g, "+");
}

function headers({ parameters, body: schema }: Endpoint, known: Known): fc.Arbitrary<Header[]> {
  const key = fc.oneof(
    { weight: 40, arbitrary: fc.constantFrom(...known.keys) },
    { weight: 1, arbitrary: hostileText.map(latin) },
  );
  const own = parameters
    .filter(({ in: where }) => where === "header")
    .map(({ name, schema: one }) => maybe(name, fc.oneof(valid(name, one, known), hostileText.map(latin)), 3));
  const type = fc.oneof(
    { weight: 20, arbitrary: fc.constant("application/json") },
    {
      weight: 2,
      arbitrary: fc.constantFrom("application/json; charset=utf-8", "text/plain", "application/xml", "", ";", "a/b/c"),
    },
    { weight: 1, arbitrary: hostileText.map(latin) },
  );
  return fc
    .tuple(
      maybe("X-API-Key", key, 60, 1),
      schema ? type.map((one): Header[] => [["Content-Type", one]]) : maybe("Content-Type", type, 1),
      ...own,
      maybe("Expect", fc.constantFrom("100-continue", "a miracle", ""), 1, 60),
      maybe("X-Forwarded-For", hostileText.map(latin), 1, 20),
      maybe("Accept-Encoding", fc.constantFrom("gzip", "br;q=1.0", "*"), 1, 20),
      maybe("Content-Encoding", fc.constantFrom("gzip", "x"), 1, 60),
      maybe("Upgrade", fc.constantFrom("h2c", "websocket"), 1, 60),
      maybe("X-Large", fc.constant("x".repeat(17_000)), 1, 100),
      maybe("X-API-Key", hostileText.map(latin), 1, 100),
    )
    .map((lists) => lists.flat());
}

function maybe(name: string, value: fc.Arbitrary<string>, weight: number, against = 3): fc.Arbitrary<Header[]> {
  return fc.oneof(
    { weight, arbitrary: value.map((one): Header[] => [[name, one]]) },
    { weight: against, arbitrary: fc.constant<Header[]>([]) },
  );
}

/** Requests generated from the document: valid, nearly valid and hostile. */
export function requests(document: OpenApi, known: Known): fc.Arbitrary<Wire> {
  const all = endpoints(document).map((endpoint) =>
    fc.record({
      method: fc.oneof({ weight: 12, arbitrary: fc.constant(endpoint.method) }, fc.constantFrom(...METHODS)),
      target: target(endpoint, known),
      headers: headers(endpoint, known),
      body: body(endpoint.body, known),
    }),
  );
  return fc.oneof(...all.map((arbitrary, i) => ({ arbitrary, weight: weightOf(endpoints(document)[i]) })));
}

/** A conflict of idempotency keys needs the same key of a client twice with different bodies, so it is the rarest response. */
function weightOf(endpoint: Endpoint | undefined): number {
  if (endpoint?.parameters.some(({ name }) => name === "Idempotency-Key")) return 18;
  return endpoint?.body ? 6 : 1;
}
