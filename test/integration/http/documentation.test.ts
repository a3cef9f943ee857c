import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { clientError, ERROR_CODES, ERRORS, errorExample, errorRow, errorsReturned } from "../../../src/domain/error.ts";
import { toRecord } from "../../../src/domain/record.ts";
import { PROBLEM_BOUNDS } from "../../../src/http/api/import-problem.ts";
import { record } from "../../../src/http/api/record-schema.ts";
import { ROUTES } from "../../../src/http/api/routes.ts";
import { MAX_BODY_BYTES } from "../../../src/http/body/body.ts";
import { MAX_DEPTH, MAX_VALUES } from "../../../src/http/body/json-shape.ts";
import { openApi } from "../../../src/http/openapi/openapi.ts";
import { EVERY_ROUTE } from "../../support/http/every-route.ts";
import { runPending, startHttp } from "../../support/http/running.ts";

test("the document is valid OpenAPI 3.1", async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(JSON.parse(JSON.stringify(openApi())));
  assert.equal(valid, true, JSON.stringify(errors, null, 1));
  assert.equal(validator.version, "3.1");
});

test("every schema is valid JSON Schema and accepts its examples", () => {
  const { components } = openApi();
  const ajv = addFormats.default(new Ajv2020.default({ strict: false }));
  for (const [name, schema] of Object.entries(components.schemas ?? {})) {
    assert.doesNotThrow(() => ajv.compile({ ...(schema as object), components }), name);
  }
  const examples = Object.values(openApi().paths).flatMap(Object.values).flatMap(examplesOf);
  assert.ok(examples.length > 30);
  for (const { schema, value } of examples) {
    const check = ajv.compile({ ...(schema as object), components });
    assert.ok(check(value), `${JSON.stringify(value)}: ${ajv.errorsText(check.errors)}`);
  }
});

test("the document has exactly the endpoints of the server", async (t) => {
  const { ask } = await startHttp(t);
  const { json } = await ask({ path: "/openapi.json", key: null });
  assert.deepEqual(json, JSON.parse(JSON.stringify(openApi())));
  const documented = Object.entries(openApi().paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
  assert.deepEqual(documented.sort(), ROUTES.map(({ method, path }) => `${method} ${path}`).sort());
  // addRoutes() adds the routes of ROUTES. No file may add another one below /api.
  const directory = new URL("../../../src/http/", import.meta.url);
  for (const name of readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((one) => one.endsWith(".ts")))
    assert.doesNotMatch(
      readFileSync(new URL(name, directory), "utf8"),
      /\.(get|post|put|patch|delete)\S*\(\s*["`]\/api\b/,
      name,
    );
  assert.equal(new Set(ROUTES.map(({ id }) => id)).size, ROUTES.length);
});

test("a stream of events has the schema of each event, next to the other bodies of its response", () => {
  const { paths, components } = openApi();
  const contentOf = (path: string, method: string) => {
    const { responses } = (paths[path]?.[method] ?? {}) as { responses?: Responses };
    return (responses?.[200]?.content ?? {}) as Record<string, Record<string, unknown>>;
  };
  const executions = "/api/sandboxes/{id}/executions";
  const ofExecution = contentOf(`${executions}/{number}/events`, "get");
  assert.deepEqual(Object.keys(ofExecution), ["text/event-stream"]);
  const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  assert.deepEqual(ofExecution["text/event-stream"]?.["x-events"], {
    start: reference("ExecutionState"),
    stdout: reference("ExecutionOutput"),
    stderr: reference("ExecutionOutput"),
    ended: reference("Execution"),
  });
  const executed = contentOf(executions, "post");
  assert.deepEqual(executed["application/json"]?.schema, reference("Execution"));
  assert.deepEqual(executed["text/event-stream"], ofExecution["text/event-stream"]);
  const ofFiles = contentOf("/api/sandboxes/{id}/files/events", "get")["text/event-stream"]?.["x-events"] as object;
  assert.deepEqual(Object.keys(ofFiles), ["start", "created", "changed", "removed", "moved", "overflow"]);
  for (const name of ["ExecutionState", "ExecutionOutput", "Execution", "FileChanged", "FileMoved"])
    assert.ok(components.schemas?.[name], name);
});

test("every error is an example of each endpoint that can return it", () => {
  const named = new Set(ROUTES.flatMap(({ errors }) => errors));
  for (const code of ERROR_CODES) {
    const { returned } = errorRow(code);
    // An error that routes return cannot be one that only others return.
    const onlyElsewhere = ["unknownRoute", "dashboard", "foreignApi"].includes(returned ?? "");
    assert.equal(named.has(code), !onlyElsewhere, code);
  }
  const { paths, components } = openApi();
  for (const { path, method, errors } of ROUTES) {
    const { responses } = (paths[path]?.[method] ?? {}) as { responses: Responses };
    for (const code of errors) {
      const { status } = ERRORS[code];
      const media = responses[status]?.content?.["application/json"];
      assert.ok(media?.examples?.[code], `${method} ${path}: ${code}`);
    }
  }
  assert.deepEqual(Object.keys(components.responses ?? {}).sort(), [...errorsReturned("unknownRoute")].sort());
});

test("the examples of errors name the limits of the service", () => {
  for (const [code, expected] of [
    ["tooNested", clientError("tooNested", [MAX_DEPTH])],
    ["tooManyValues", clientError("tooManyValues", [MAX_VALUES])],
    ["bodyTooLarge", clientError("bodyTooLarge", [MAX_BODY_BYTES])],
    ["submissionTooLarge", clientError("submissionTooLarge", [MAX_BODY_BYTES])],
    ["problemsFull", clientError("problemsFull", [PROBLEM_BOUNDS.problems, PROBLEM_BOUNDS.bytes])],
  ] as const)
    assert.equal(errorExample(code).message, expected.message);
});

test("each endpoint refuses an unknown query parameter", async (t) => {
  const { ask } = await startHttp(t);
  for (const { method, path, ...rest } of EVERY_ROUTE) {
    const { status, json } = await ask({ method, path: `${path}?wiat=true`, ...rest });
    assert.deepEqual([status, json], [400, { error: 'unknown query parameter: "wiat"' }], `${method} ${path}`);
  }
});

test("a record matches the schema at each stage", async (t) => {
  const { submit, store, ask } = await startHttp(t);
  const { json } = await submit();
  const read = async () => record.parse((await ask({ path: `/api/result/${json.id}` })).json);
  assert.equal((await read()).status, "pending");
  const [claim] = await store.submissions.claim("w", 60_000);
  assert.ok(claim);
  assert.equal((await read()).status, "running");
  await store.submissions.release(claim.lease, false);
  await runPending(store);
  const ended = await read();
  assert.equal(ended.status, "completed");
  assert.notEqual(ended.evidence, null);
  assert.throws(() => record.parse({ ...toRecord(claim.submission), more: 1 }));
});

test("the reference page and its files need no key and load only from their origin", async (t) => {
  const { ask } = await startHttp(t);
  const parts = ["/docs", "/docs/page.js", "/docs/page.css", "/docs/icon.svg", "/openapi.json"];
  const types = ["text/html", "text/javascript", "text/css", "image/svg+xml", "application/json"];
  for (const [i, path] of parts.entries()) {
    const { status, headers, text } = await ask({ path, key: null });
    assert.equal(status, 200, path);
    assert.match(headers["content-type"] ?? "", new RegExp(`^${types[i]?.replace("+", "\\+")}`), path);
    assert.equal(headers["x-content-type-options"], "nosniff", path);
    assert.doesNotMatch(
      text.replaceAll("http://www.w3.org/2000/svg", "").replace(/"https:[^"]*schema"/g, ""),
      /https?:\/\//,
    );
  }
  const { text, headers } = await ask({ path: "/docs", key: null });
  assert.equal((await ask({ path: "/docs/", key: null })).text, text);
  const policy = String(headers["content-security-policy"]);
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe|\*|https?:/);
  assert.doesNotMatch(text, /<script(?! src="\/docs\/)|<style|\sstyle=|\son\w+=/);
  const links = [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, link = ""]) => link);
  for (const link of links.filter((one) => !one.startsWith("#") && !parts.includes(one))) {
    assert.match(link, /^\/docs\/(tutorials\/)?[a-z0-9-]+$/);
    const document = await ask({ path: link, key: null });
    assert.equal(document.status, 200, link);
    assert.match(document.text, /<article class="guide"><h1/);
    assert.equal(document.headers["content-security-policy"], policy);
  }
  const found = await ask({ path: "/docs/search?q=%3Cscript%3E+queue", key: null });
  assert.equal(found.status, 200);
  assert.doesNotMatch(found.text, /<script/);
  for (const link of links.filter((one) => one.startsWith("#")))
    assert.ok(text.includes(`id="${link.slice(1)}"`), link);
  for (const [, id] of text.matchAll(/<label[^>]* for="([^"]+)"/g)) assert.ok(text.includes(`id="${id}"`), id);
});

test("limits pages without a key by address, without an effect on keys", async (t) => {
  const { ask } = await startHttp(t, { limits: { maxConnectionsPerAddress: 400 } });
  const visits = await Promise.all(Array.from({ length: 310 }, () => ask({ path: "/docs/icon.svg", key: null })));
  assert.equal(visits.filter(({ status }) => status === 200).length, 300);
  const refused = visits.find(({ status }) => status === 429);
  assert.deepEqual(refused?.json, { error: "too many requests without a key from this address" });
  assert.match(refused?.headers["retry-after"] ?? "", /^[1-9]\d?$/);
  assert.equal((await ask({ path: "/api/health" })).status, 200);
});

type Media = { schema: object; examples?: Record<string, { value: unknown }> };
type Responses = Record<string, { content?: Record<string, Media> }>;

function examplesOf(operation: unknown): { schema: object; value: unknown }[] {
  const { responses } = operation as { responses: Responses };
  return Object.values(responses).flatMap(({ content }) =>
    Object.values(content ?? {}).flatMap(({ schema, examples = {} }) =>
      Object.values(examples).map(({ value }) => ({ schema, value })),
    ),
  );
}
