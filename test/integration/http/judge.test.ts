import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Outcome } from "../../../src/domain/outcome.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { runPending, startHttp } from "../../support/http/running.ts";
import { report, signalled } from "../../support/verdict/reports.ts";

const LIMIT = { timeout: 20_000 };

/** A program that prints its input twice, and has other ends for some inputs. */
function outcomeOf({ program }: Claim): Outcome {
  const stdin = program.stdin.toString();
  if (stdin === "loop") return buildOutcome({ execute: signalled(9, { killReason: "cpu" }) });
  if (stdin === "fail") return buildOutcome({ execute: report({ exitCode: 3, stdout: Buffer.from("failfail") }) });
  return buildOutcome({ execute: report({ stdout: Buffer.from(stdin + stdin) }) });
}

const doesNotCompile = () => buildOutcome({ compile: report({ exitCode: 1, stderr: Buffer.from("no") }) });

async function judging(t: Parameters<typeof startHttp>[0], outcome: typeof outcomeOf = outcomeOf, options = {}) {
  const running = await startHttp(t, options);
  let ran = 0;
  const counted = (claim: Claim) => {
    ran++;
    return outcome(claim);
  };
  const timer = setInterval(() => void runPending(running.store, counted).catch(() => {}), 10);
  t.after(() => clearInterval(timer));
  const judge = (body: object, more = {}) =>
    running.ask({ method: "POST", path: "/api/judge", body: JSON.stringify(body), ...more });
  return { ...running, judge, ran: () => ran };
}

const PROGRAM = { language: "python", code: "x" };

test("each case has its verdict, and its submission can be read", LIMIT, async (t) => {
  const { judge, ask } = await judging(t);
  const { status, json } = await judge({
    ...PROGRAM,
    cases: [
      { stdin: "a", expected: "aa \n\n" },
      { stdin: "b", expected: "bc" },
      { stdin: "loop", expected: "" },
      { stdin: "fail", expected: "failfail" },
      { expected: "" },
    ],
  });
  assert.equal(status, 200);
  assert.equal(json.all_passed, false);
  const short = json.results.map((one: Record<string, unknown>) => [one.verdict, one.passed, one.stdout, one.message]);
  assert.deepEqual(short.slice(0, 2), [
    ["AC", true, "aa", null],
    ["WA", false, "bb", 'line 1: expected "bc", got "bb"'],
  ]);
  assert.deepEqual(
    short.slice(2).map(([verdict, passed]: unknown[]) => [verdict, passed]),
    [
      ["TLE", false],
      ["RE", false],
      ["AC", true],
    ],
  );
  const { json: record } = await ask({ path: `/api/result/${json.results[1].submission_id}` });
  assert.deepEqual([record.result.verdict, record.output.stdout], ["AC", "bb"]);
  const good = await judge({ ...PROGRAM, cases: [{ stdin: "a", expected: "A\ta" }], checker: "tokens" });
  assert.deepEqual([good.json.all_passed, good.json.results[0].verdict], [false, "WA"]);
});

test("a program that does not compile runs once, and every case is CE", LIMIT, async (t) => {
  const { judge, ran } = await judging(t, doesNotCompile);
  const { json } = await judge({ ...PROGRAM, cases: Array(5).fill({ expected: "" }) });
  assert.deepEqual(
    json.results.map((one: { verdict: string }) => one.verdict),
    Array(5).fill("CE"),
  );
  assert.equal(ran(), 1);
});

test("cases that do not finish in time are 408 with the id of their judgement", LIMIT, async (t) => {
  const { ask, submit } = await startHttp(t, { holdMs: 100 });
  const body = JSON.stringify({ ...PROGRAM, cases: [{ expected: "" }, { expected: "" }] });
  const { status, json } = await ask({ method: "POST", path: "/api/judge", body });
  assert.deepEqual([status, json.status], [408, "pending"]);
  assert.equal((await ask({ path: `/api/judgements/${json.id}` })).json.tests.total, 2);
  assert.equal((await submit()).json.queue_depth, 2);
});

test("invalid requests are rejected before anything runs", LIMIT, async (t) => {
  const { judge, ran } = await judging(t);
  const cases = [{ expected: "" }];
  for (const [body, error] of [
    [{ ...PROGRAM }, /^cases: /],
    [{ ...PROGRAM, cases: [] }, /^cases: /],
    [{ ...PROGRAM, cases: Array(51).fill({ expected: "" }) }, /^cases: /],
    [{ ...PROGRAM, cases: [{ stdin: "" }] }, /^cases\.0\.expected: /],
    [{ ...PROGRAM, cases, checker: "magic" }, /^checker: /],
    [{ ...PROGRAM, cases, stdin: "x" }, /^the body: /],
    [{ language: "python", cases }, /^code is required$/],
    [{ language: "cobol", code: "x", cases }, /^unsupported language/],
    [{ ...PROGRAM, cases: [{ expected: "\ud800" }] }, /valid Unicode/],
    [{ ...PROGRAM, cases, files: JSON.parse('{"__proto__": "x"}') }, /__proto__/],
    [{ ...PROGRAM, cases, files: { ["x".repeat(100_000)]: 1 } }, /^.{0,400}$/],
    [{ ...PROGRAM, cases, ["x".repeat(100_000)]: 1 }, /^.{0,400}$/],
  ] as const) {
    const { status, json } = await judge(body);
    assert.deepEqual([status, error.test(json.error)], [400, true], JSON.stringify(json));
  }
  assert.equal(ran(), 0);
});

test("a shutdown sends waiting clients a response that names the stop, and the id", LIMIT, async (t) => {
  const { ask, store, server } = await startHttp(t);
  const cases = [{ stdin: "a", expected: "aa" }];
  const requests = {
    "/api/judge": { ...PROGRAM, cases },
    "/api/judgements?wait=true": { ...PROGRAM, tests: cases },
  };
  const waiting = Object.entries(requests).map(([path, body]) =>
    ask({ method: "POST", path, body: JSON.stringify(body) }),
  );
  while ((await store.submissions.depth()) < 2) await sleep(5);
  await server.close();
  for (const { status, json } of await Promise.all(waiting)) {
    assert.equal(status, 408);
    const error = "not finished before the service stopped; poll GET /api/judgements/{id}";
    assert.deepEqual(json, { error, id: json.id, status: "pending" });
  }
});
