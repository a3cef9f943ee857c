import assert from "node:assert/strict";
import { test } from "node:test";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import fc from "fast-check";
import type { OpenApi } from "../../../src/http/openapi/openapi.ts";
import { runPending, startHttp } from "../../support/http/running.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { endpoints, type Known, requests, type Wire } from "./hostile.ts";
import { type Answer, Line } from "./wire.ts";

/** So many that each of some 60 endpoints gets enough of them for every status below. */
const REQUESTS = SKIPS_LONG ? 6_500 : 20_500;
const CHUNK = 500;
const DRAIN_EVERY = 150;
const LINES = 8;
/** The same requests on every run; set ASSAY_TEST_SEED to vary them. */
const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20_260_101);

const REPEATED = ["0f8fad5b-d9cb-469f-a165-70867728950e", "0f8fad5b-d9cb-469f-a165-70867728950f"];

test("every response to random requests is documented in /openapi.json", {
  timeout: 240_000,
}, async (t) => {
  const { port, key, store, logs, ask, submit } = await startHttp(t, {
    transport: { kind: "loopback" },
    holdMs: 20,
    maxPending: 6,
    limits: { requestTimeout: 2_000, headersTimeout: 2_000, connectionsCheckingInterval: 200 },
  });
  const document = (await ask({ path: "/openapi.json" })).json as OpenApi;
  const known: Known = {
    keys: [
      ...(await Promise.all(
        Array.from({ length: 9 }, () => key({ requestsPerMinute: 1_000_000, profiles: ["judge", "agent"] })),
      )),
      await key({ requestsPerMinute: 30 }),
    ],
    ids: await Promise.all(Array.from({ length: 3 }, async () => (await submit()).json.id as string)),
    words: {
      language: ["python", "py", "c", "rust", "cobol"],
      wait: ["true", "true", "false"],
      "Idempotency-Key": REPEATED,
    },
  };
  const judge = new Judge(document);
  const lines = Array.from({ length: LINES }, () => new Line(port));
  t.after(() => {
    for (const line of lines) line.close();
  });
  let foundFullBefore = 0;
  // Made once, because a string of any characters takes a second to prepare.
  const anyRequest = requests(document, known);
  for (let chunk = 0; chunk * CHUNK < REQUESTS; chunk++) {
    const seed = SEED + chunk;
    const wires = fc.sample(anyRequest, { numRuns: CHUNK, seed });
    const each = async (line: Line) => {
      for (let wire = wires.shift(); wire; wire = wires.shift()) {
        let answer: Answer | undefined;
        try {
          answer = await line.ask(wire);
          judge.check(wire, answer);
          // Runs pending submissions now and then, so that the queue has space, but only after requests that found it full.
          const foundFull = judge.seen.get(503) ?? 0;
          if (judge.count % DRAIN_EVERY === 0 && foundFull > foundFullBefore) {
            foundFullBefore = foundFull;
            await runPending(store);
          }
        } catch (error) {
          assert.fail(`seed ${seed}: ${(error as Error).message}\n${show(wire)}\n${JSON.stringify(answer)}`);
        }
      }
    };
    await Promise.all(lines.map(each));
  }

  assert.equal((await ask({ path: "/api/health" })).status, 200, "the service still responds");
  assert.deepEqual(
    logs.filter((line) => /"level":[56]0/.test(line)),
    [],
    "no error was logged",
  );
  const seen = [...judge.seen].sort();
  t.diagnostic(
    `seed ${SEED}, ${judge.count} requests: ${seen.map(([status, count]) => `${status} ${count}`).join(", ")}`,
  );
  assert.ok(judge.count >= REQUESTS - CHUNK);
  for (const status of [200, 202, 400, 401, 404, 405, 408, 415, 417, 422, 429, 431, 503]) {
    assert.ok(judge.seen.has(status), `no request led to ${status}`);
  }
});

/** Checks responses against the document. */
class Judge {
  readonly seen = new Map<number, number>();
  count = 0;
  readonly #allowed: { readonly pattern: RegExp; readonly method: string; readonly checks: Checks }[];
  /** For unknown paths and methods, and for pages: the errors of every endpoint, 404 and 405. */
  readonly #elsewhere: Checks;

  constructor(document: OpenApi) {
    const ajv = addFormats.default(new Ajv2020.default({ strict: false }));
    const compiled = new Map<string, (value: unknown) => boolean>();
    const compileOnce = (schema: object) => {
      const text = JSON.stringify(schema);
      const valid = compiled.get(text) ?? ajv.compile({ ...schema, components: document.components });
      compiled.set(text, valid);
      return valid;
    };
    const compile = (responses: Responses): Checks =>
      new Map(
        Object.entries(responses).map(([status, { content }]) => {
          if (!content) return [Number(status), (_type: string, body: string) => assert.equal(body, "")] as const;
          const [media, { schema }] = Object.entries(content)[0] ?? assert.fail(`${status} has no content`);
          const valid = compileOnce(schema);
          return [Number(status), (type: string, body: string) => checkBody(media, valid, type, body)] as const;
        }),
      );
    this.#allowed = endpoints(document).map(({ path, method }) => {
      const { responses } = (document.paths[path]?.[method.toLowerCase()] ?? {}) as { responses: Responses };
      const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]*")}$`); // the router also accepts an empty id
      return { pattern, method, checks: compile(responses) };
    });
    const [first = new Map(), ...others] = this.#allowed.map(({ checks }) => checks);
    const common = [...first].filter(([status]) => status >= 400 && others.every((checks) => checks.has(status)));
    const listed = compile(
      Object.fromEntries(Object.values(document.components.responses as Responses).map((one) => [statusOf(one), one])),
    );
    this.#elsewhere = new Map([...common, ...listed]);
  }

  /** @throws when the response is not documented. */
  check({ method, target }: Wire, { status, headers, body }: Answer): void {
    this.count++;
    this.seen.set(status, (this.seen.get(status) ?? 0) + 1);
    assert.ok(status < 500 || status === 503, "5xx");
    assert.match(headers["x-request-id"] ?? "", /^[0-9a-f-]{36}$/);
    assert.equal(headers["x-content-type-options"], "nosniff");
    // The router takes a fragment for no part of the path.
    const [path = ""] = target.split(/[?#]/, 1);
    const asked = method === "HEAD" ? "GET" : method;
    const endpoint = this.#allowed.find((one) => one.method === asked && one.pattern.test(path));
    if (!endpoint && status < 400) {
      // The router treats a target that is not a path as "/".
      assert.match(
        path,
        /^(\*$|\/($|docs|openapi\.json|dashboard))/,
        "only pages respond in addition to the endpoints",
      );
      return;
    }
    if (path === "/" || path.startsWith("/dashboard")) {
      if (method !== "HEAD") assert.equal(typeof JSON.parse(body).error, "string");
      return;
    }
    const check = (endpoint?.checks ?? this.#elsewhere).get(status);
    assert.ok(check, `${status} is not documented`);
    if (status === 429) assert.match(headers["retry-after"] ?? "", /^[1-9]\d*$/);
    if (status === 405) assert.ok(headers.allow);
    if (method === "HEAD" && body === "") return;
    check(headers["content-type"] ?? "", body);
  }
}

function checkBody(media: string, valid: (value: unknown) => boolean, type: string, body: string): void {
  assert.ok(type.startsWith(media), `${type} instead of ${media}`);
  if (media === "application/json") assert.ok(valid(JSON.parse(body)), "the body does not match the schema");
}

type Checks = Map<number, (type: string, body: string) => void>;
type Responses = Record<string, { content?: Record<string, { schema: object; examples?: Record<string, unknown> }> }>;

/** The document names these by code; the list of errors has the status. */
function statusOf({ content }: Responses[string]): number {
  const [code = ""] = Object.keys(content?.["application/json"]?.examples ?? {});
  return { routeNotFound: 404, methodNotAllowed: 405, tooManyRequests: 429 }[code] ?? assert.fail(`unknown: ${code}`);
}

function show({ method, target, headers, body }: Wire): string {
  const short = (text: string) => (text.length > 300 ? `${text.slice(0, 300)}… (${text.length})` : text);
  return JSON.stringify({
    method,
    target: short(target),
    headers: headers.map(([name, value]) => `${name}: ${short(value)}`),
    body: body && short(body.toString()),
  });
}
