import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Outcome } from "../../../src/domain/outcome.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { type Options, runPending, startHttp } from "../../support/http/running.ts";
import { stopwatch } from "../../support/stopwatch.ts";
import { onEachDatabase } from "../../support/store/temporary.ts";
import { report } from "../../support/verdict/reports.ts";
import { C, CODE, ENDS, HOSTILE, OK, PROGRAMS } from "./piston-tables.ts";

const LIMIT = { timeout: 30_000 };
const V2 = "/piston/api/v2";
const bytes = (text: string) => Buffer.from(text);

/** A service whose programs end as `outcomeOf` says, as soon as they are claimed. */
async function piston(t: TestContext, options: Options = {}, outcomeOf?: (claim: Claim) => Outcome) {
  const running = await startHttp(t, options);
  const claims: Claim[] = [];
  const timer = setInterval(() => {
    const noted = (claim: Claim) => {
      claims.push(claim);
      return outcomeOf?.(claim) ?? buildOutcome({ execute: report({ stdout: bytes("1\n") }) });
    };
    void runPending(running.store, noted).catch(() => {});
  }, 10);
  t.after(() => clearInterval(timer));
  const execute = (body: unknown, more = {}) => running.ask({ method: "POST", path: `${V2}/execute`, body, ...more });
  return { ...running, claims, execute };
}

onEachDatabase((open) => {
  test("the worker gets the program as it was sent", LIMIT, async (t) => {
    const { execute, claims } = await piston(t, { open });
    for (const [name, body, program] of PROGRAMS) {
      const { status, text } = await execute(body);
      assert.equal(status, 200, `${name}: ${text}`);
      assert.deepEqual(claims.pop()?.program, program, name);
    }
  });

  test("the stages follow from the verdict", LIMIT, async (t) => {
    let outcome: Outcome | undefined;
    const { execute, ask } = await piston(t, { open }, () => outcome as Outcome);
    for (const [name, next, { compile, run }] of ENDS) {
      outcome = next;
      const { status, json } = await execute(C);
      const { assay_id, ...stages } = json;
      const message = stages.run.status === "XX" ? stages.run.message : undefined;
      const expected = { ...(compile && { compile }), run: { ...run, ...(message && { message }) } };
      assert.deepEqual([status, stages], [200, { ...expected, language: "c", version: "14.0.0" }], name);
      const record = await ask({ path: `/api/result/${assay_id}` });
      assert.equal(record.json.result.verdict, next.result.verdict);
    }
  });

  test("a hostile request has a clear error and leaves nothing", { timeout: 60_000 }, async (t) => {
    const { ask, store } = await startHttp(t, { open });
    for (const [name, body, status, message] of HOSTILE) {
      const tookMs = stopwatch();
      const answer = await ask({ method: "POST", path: `${V2}/execute`, body });
      assert.deepEqual([answer.status, Object.keys(answer.json)], [status, ["message"]], `${name}: ${answer.text}`);
      assert.match(answer.json.message, message, name);
      assert.ok(tookMs() < 2_000, name);
    }
    assert.equal(await store.submissions.depth(), 0);
  });
});

test("the response is the same submission as through our own API", LIMIT, async (t) => {
  const { execute, ask } = await piston(t);
  const { json, headers } = await execute(CODE);
  assert.match(String(headers["ratelimit-limit"]), /^\d+$/);
  assert.deepEqual(json.run, { ...OK, stdout: "1\n", output: "1\n" });
  assert.equal(json.compile, undefined);
  const { json: record } = await ask({ path: `/api/result/${json.assay_id}` });
  assert.deepEqual([record.profile, record.output.stdout], ["judge", "1\n"]);
});

test("a cut output has Piston's status", LIMIT, async (t) => {
  const limits = { wallMs: 1, cpuMs: 1, stdoutBytes: 2, stderrBytes: 2 };
  let stream: "stdout" | "stderr" = "stdout";
  const { execute } = await piston(t, {}, () => {
    const seen = stream === "stdout" ? { stdoutSeen: 9 } : { stderrSeen: 9 };
    const output = { stdout: bytes("é"), stderr: bytes("bé") };
    const outcome = buildOutcome({ execute: report({ ...output, ...seen }) });
    const course = { stdoutBytes: stream === "stdout" ? 9 : 2, stderrBytes: stream === "stderr" ? 9 : 2 };
    const execute = { runMs: 1, teardownMs: 1, processesPeak: 1, limits, ...course };
    return { ...outcome, runStats: { compileMs: null, execute } };
  });
  const statuses = { stdout: "OL", stderr: "EL" } as const;
  for (const cut of ["stdout", "stderr"] as const) {
    stream = cut;
    const { json } = await execute(CODE);
    assert.deepEqual([json.run.code, json.run.status, json.run.output], [0, statuses[cut], "ébé"]);
    assert.equal(json.run.message, `the output to ${cut} is longer than the limit: it was cut`);
  }
});

test("the key can have any form that a client can send", LIMIT, async (t) => {
  const { ask, key, logs } = await startHttp(t);
  const own = await key();
  const basic = (pair: string) => `Basic ${Buffer.from(pair).toString("base64")}`;
  const path = `${V2}/runtimes`;
  const good: readonly string[] = [
    own,
    `Bearer ${own}`,
    `bearer  ${own}`,
    basic(`key:${own}`),
    basic(`${own}:`),
    basic(`${own}:x`),
    basic(own),
  ];
  for (const authorization of good)
    assert.equal((await ask({ path, key: null, headers: { authorization } })).status, 200, authorization);
  const bad = ["", "Basic", "Basic %%", basic("a:b"), basic(":"), "Bearer x", `Token ${own}`];
  for (const authorization of bad) {
    const { status, json } = await ask({ path, key: null, headers: { authorization } });
    assert.deepEqual([status, json], [401, { message: "Missing or invalid API key" }], authorization);
  }
  assert.equal((await ask({ path, key: "x", headers: { authorization: own } })).status, 401);
  assert.ok(logs.some((line) => line.includes(path)));
  for (const secret of good) assert.equal(logs.join("").includes(secret.replace(/^\w+ +/, "")), false);
  // Our own API has one form.
  assert.equal((await ask({ path: "/api/languages", key: null, headers: { authorization: own } })).status, 401);
  assert.equal((await ask({ path: `${path}x`, key: null, headers: { authorization: own } })).status, 404);
});

test("lists runtimes and packages, and leaves packages to the operator", LIMIT, async (t) => {
  const { ask, engine } = await startHttp(t);
  assert.deepEqual((await ask({ path: `${V2}/runtimes` })).json, [
    { language: "c", version: "14.0.0", aliases: ["gcc"], runtime: "gcc" },
    { language: "python", version: "3.13.0", aliases: ["py", "py3", "python3"] },
  ]);
  assert.equal((await ask({ path: `${V2}/runtimes/` })).status, 200);
  const { json } = await ask({ path: `${V2}/packages` });
  const find = (name: string) => json.find(({ language }: { language: string }) => language === name);
  assert.deepEqual(find("c++"), { language: "c++", language_version: "14.0.0", installed: false });
  assert.deepEqual(find("python"), { language: "python", language_version: "3.13.0", installed: true });
  for (const method of ["POST", "DELETE"])
    for (const body of [{ language: "python", version: "3.12.0" }, undefined]) {
      const refused = await ask({ method, path: `${V2}/packages`, body });
      assert.deepEqual(
        [refused.status, refused.json],
        [403, { message: "the operator of the service installs languages, with: assay languages add NAME" }],
      );
    }
  engine.languages = [];
  assert.deepEqual((await ask({ path: `${V2}/runtimes` })).json, []);
  const early = await ask({ method: "POST", path: `${V2}/execute`, body: CODE });
  assert.deepEqual([early.status, early.json], [503, { message: "no language is verified yet, try again later" }]);
});

test("every error below the path has Piston's form", LIMIT, async (t) => {
  const { ask, key } = await startHttp(t, { maxPending: 0 });
  const rows: readonly [string, string, object, number][] = [
    ["GET", `${V2}/nothing`, {}, 404],
    ["GET", V2, {}, 404],
    ["GET", `${V2}/execute`, {}, 405],
    ["POST", `${V2}/execute`, { body: CODE, headers: { "content-type": "text/plain" } }, 415],
    ["POST", `${V2}/execute`, { body: CODE }, 503],
  ];
  for (const [method, path, more, expected] of rows) {
    const { status, json } = await ask({ method, path, ...more });
    assert.deepEqual([status, Object.keys(json)], [expected, ["message"]], path);
  }
  const slow = await key({ requestsPerMinute: 1 });
  await ask({ path: `${V2}/runtimes`, key: slow });
  const refused = await ask({ method: "POST", path: `${V2}/execute`, body: CODE, key: slow });
  assert.deepEqual([refused.status, refused.json], [429, { message: "API key quota exceeded" }]);
  assert.match(refused.headers["retry-after"] ?? "", /^\d+$/);
});

test("waits for a run that takes longer than one wait, and than an idle connection may be open", LIMIT, async (t) => {
  // On a busy machine, the handshake and the request alone take some tenths of a second.
  const { ask, store } = await startHttp(t, { holdMs: 500, limits: { inactivityTimeout: 1_500 } });
  const executed = ask({ method: "POST", path: `${V2}/execute`, body: CODE });
  await sleep(4_000);
  await runPending(store);
  const { status, json } = await executed;
  assert.deepEqual([status, json.run.stdout], [200, "1\n"]);
});

test("the wait ends with the id of the run", LIMIT, async (t) => {
  const { ask } = await startHttp(t, { holdMs: 20 });
  const { status, json } = await ask({ method: "POST", path: `${V2}/execute`, body: CODE });
  assert.equal(status, 408);
  assert.equal(json.message, "not finished within 0.4 s; poll GET /api/result/{id}");
  assert.equal((await ask({ path: `/api/result/${json.assay_id}` })).json.status, "pending");
});

test("a stop of the service ends the wait with the id", LIMIT, async (t) => {
  const { ask, server, store } = await startHttp(t);
  const executed = ask({ method: "POST", path: `${V2}/execute`, body: CODE });
  while ((await store.submissions.depth()) === 0) await sleep(10);
  await server.close();
  const { status, json } = await executed;
  assert.deepEqual([status, Object.keys(json)], [408, ["message", "assay_id"]]);
});
