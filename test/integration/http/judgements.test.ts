import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Outcome } from "../../../src/domain/outcome.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { Raw } from "../../support/http/raw.ts";
import { type Options, runPending, startHttp } from "../../support/http/running.ts";
import { type OpenTemporary, onEachDatabase, temporaryStore } from "../../support/store/temporary.ts";
import { report, signalled } from "../../support/verdict/reports.ts";

const LIMIT = { timeout: 30_000 };
const PROGRAM = { language: "python", code: "x" };
const HELLO = { ...PROGRAM, tests: [{ stdin: "a", expected: "aa" }] };

/** A program that prints its input twice, and has other ends for some inputs. */
function outcomeOf({ program }: Claim): Outcome {
  const stdin = program.stdin.toString();
  if (stdin === "loop") return buildOutcome({ execute: signalled(9, { killReason: "cpu" }) });
  if (stdin === "flood")
    return buildOutcome({ execute: report({ stdout: Buffer.from("flood"), stdoutSeen: 9_999_999 }) });
  return buildOutcome({ execute: report({ stdout: Buffer.from(stdin + stdin) }) });
}

async function judging(t: TestContext, open: OpenTemporary, options: Options & { readonly idle?: boolean } = {}) {
  const running = await startHttp(t, { ...options, open });
  const { store, ask } = running;
  const claimed: Claim[] = [];
  const look = (claim: Claim) => {
    claimed.push(claim);
    return outcomeOf(claim);
  };
  const timer = setInterval(() => void (options.idle || runPending(store, look).catch(() => {})), 10);
  t.after(() => clearInterval(timer));
  const judge = (body: object, query = "?wait=true", more = {}) =>
    ask({ method: "POST", path: `/api/judgements${query}`, body: JSON.stringify(body), ...more });
  return { ...running, judge, claimed };
}

onEachDatabase((open) => {
  test("each test has its verdict, its points and the record of its run", LIMIT, async (t) => {
    const { judge, ask, claimed } = await judging(t, open);
    const { status, json } = await judge({
      ...PROGRAM,
      args: ["x"],
      stop: "never",
      groups: [{ name: "hard", rule: "min", depends: ["easy"] }],
      tests: [
        { stdin: "a", expected: "aa", group: "easy" },
        {
          name: "second",
          stdin: { base64: "Yg==" },
          expected: ["no", { base64: "YmI=" }],
          points: 2.5,
          group: "easy",
        },
        { stdin: "c", expected: "d", group: "hard", points: 10, limits: { cpu_time_secs: 0.5 } },
        { stdin: "loop", expected: "", group: "hard" },
        { stdin: "flood", expected: "flood", group: "hard" },
      ],
    });
    assert.equal(status, 200);
    assert.deepEqual([json.status, json.verdict, json.score, json.max_score], ["completed", "WA", 3.5, 15.5]);
    assert.deepEqual(json.tests, { total: 5, passed: 2, ended: 5 });
    assert.deepEqual(
      json.groups.map((group: Record<string, unknown>) => [group.name, group.rule, group.score, group.passed]),
      [
        ["easy", "sum", 3.5, true],
        ["hard", "min", 0, false],
      ],
    );
    assert.deepEqual(
      json.runs.map((run: Record<string, unknown>) => [run.name, run.verdict, run.points, run.message]),
      [
        ["1", "AC", 1, null],
        ["second", "AC", 2.5, null],
        ["3", "WA", 0, 'line 1: expected "d", got "cc"'],
        ["4", "TLE", 0, json.runs[3].message],
        ["5", "WA", 0, "the output exceeds its limit"],
      ],
    );
    const { json: record } = await ask({ path: `/api/result/${json.runs[2].submission_id}` });
    assert.deepEqual([record.result.verdict, record.output.stdout], ["AC", "cc"]);
    const limited = claimed.find(({ program }) => program.stdin.toString() === "c");
    assert.deepEqual(limited?.test?.limits.stated?.execute, { cpu_time_secs: 0.5 });
    assert.deepEqual(limited?.program.options?.args, ["x"]);
  });

  test(
    "a judgement can be read, listed, followed, cancelled and repeated, but only by its account",
    LIMIT,
    async (t) => {
      const { judge, ask, key, defaultKey, store, port, caPath } = await judging(t, open, { idle: true });
      const { status, json, headers } = await judge(HELLO, "");
      assert.deepEqual([status, json.status, headers.location], [202, "pending", `/api/judgements/${json.id}`]);
      const path = `/api/judgements/${json.id}`;
      const other = await key({ account: "other" });
      for (const [method, end] of [
        ["GET", ""],
        ["GET", "/events"],
        ["POST", "/cancel"],
        ["POST", "/rejudge"],
      ] as const) {
        const refused = await ask({ method, path: path + end, key: other });
        assert.deepEqual([refused.status, refused.json.error], [404, "judgement not found"], end);
      }
      assert.deepEqual((await ask({ path: "/api/judgements", key: other })).json, { judgements: [], next: null });
      const events = Raw.secure(port, caPath);
      events.write(
        `GET ${path}/events HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${defaultKey}\r\nConnection: close\r\n\r\n`,
      );
      while (!events.received.includes("event: state")) await sleep(5);
      await runPending(store, outcomeOf);
      const text = (await events.ended).replaceAll(/\r\n[0-9a-f]+\r\n/g, ""); // without the sizes of chunks
      assert.match(text, /event: state\ndata: \{.*"status":"pending".*\n\nevent: ended\ndata: .*"verdict":"AC"/);
      const { json: again } = await ask({ method: "POST", path: `${path}/rejudge` });
      assert.notEqual(again.id, json.id);
      const cancelled = await ask({ method: "POST", path: `/api/judgements/${again.id}/cancel` });
      assert.deepEqual([cancelled.json.status, cancelled.json.verdict], ["error", "IE"]);
      assert.equal(await runPending(store, outcomeOf), 0);
      const list = async (query: string) => {
        const { json: page } = await ask({ path: `/api/judgements?${query}` });
        return [page.judgements.map((one: { id: string }) => one.id), page.next !== null];
      };
      assert.deepEqual(await list(""), [[again.id, json.id], false]);
      assert.deepEqual(await list("verdict=AC"), [[json.id], false]);
      assert.deepEqual(await list("limit=1"), [[again.id], true]);
      assert.equal((await ask({ path: "/api/judgements?verdict=OK" })).status, 400);
    },
  );

  test("a repeated request with the same key returns the same judgement", LIMIT, async (t) => {
    const { judge, submit, store } = await judging(t, open, { idle: true });
    const headers = { "idempotency-key": randomUUID() };
    const [first, second] = await Promise.all([judge(HELLO, "", { headers }), judge(HELLO, "", { headers })]);
    assert.equal(first.json.id, second.json.id);
    assert.equal(await store.submissions.depth(), 1);
    const other = { ...HELLO, tests: [{ stdin: "b", expected: "bb" }] };
    assert.equal((await judge(other, "", { headers })).status, 422);
    assert.equal((await submit(undefined, { headers })).status, 422);
  });
});

/** Options of checkers with types that do not have them. */
function foreignOptions() {
  const ofWords = { case_sensitive: false, line_breaks: true };
  const ofFloats = { absolute: 1, relative: 1 };
  const plain = ["exact", "lines", "unordered_lines", "regex"];
  return [
    ...plain.flatMap((type) => Object.entries({ ...ofWords, ...ofFloats }).map((option) => [type, ...option] as const)),
    ...Object.entries(ofFloats).map((option) => ["tokens", ...option] as const),
  ];
}

test("checkers take the options of their type", LIMIT, async (t) => {
  const { judge } = await judging(t, temporaryStore, { idle: true });
  const ofWords = { case_sensitive: false, line_breaks: true };
  for (const checker of [
    { type: "lines" },
    { type: "tokens", ...ofWords },
    { type: "floats", ...ofWords, absolute: 0, relative: 1 },
  ])
    assert.equal((await judge({ ...HELLO, checker }, "")).status, 202);
});

test(
  "one tolerance of floats makes the other one 0, and none makes both 10^-6, as the documents say",
  LIMIT,
  async (t) => {
    const { judge, ask, claimed } = await judging(t, temporaryStore);
    for (const [options, absolute, relative] of [
      [{}, 1e-6, 1e-6],
      [{ absolute: 1e-9 }, 1e-9, undefined],
      [{ relative: 1e-9 }, undefined, 1e-9],
    ] as const) {
      await judge({ ...HELLO, checker: { type: "floats", ...options } });
      const checker = claimed.at(-1)?.test?.checker;
      assert.ok(checker?.type === "floats");
      assert.deepEqual([checker.absolute, checker.relative], [absolute, relative]);
    }
    const { json } = await ask({ path: "/openapi.json" });
    for (const name of ["absolute", "relative"])
      assert.match(
        json.components.schemas.FloatsChecker.properties[name].description,
        /by default 10⁻⁶, or 0 if only the other error is given/,
      );
  },
);

test("invalid requests are rejected before anything is stored", LIMIT, async (t) => {
  const { judge, store } = await judging(t, temporaryStore, { idle: true });
  const tests = [{ stdin: "", expected: "" }];
  const checker = { type: "program", interface: "kattis", language: "python", code: "x" };
  for (const [body, error] of [
    [{ ...PROGRAM }, /^tests: /],
    [{ ...PROGRAM, tests: [] }, /^tests: /],
    [{ ...PROGRAM, tests: Array(501).fill(tests[0]) }, /^tests: |values/],
    [{ ...PROGRAM, tests: [{ stdin: "" }] }, /^tests\.0\.expected: is required/],
    [{ ...PROGRAM, tests: [{ expected: [] }] }, /^tests\.0\.expected: /],
    [{ ...PROGRAM, tests: [{ expected: "\ud800" }] }, /valid Unicode/],
    [{ ...PROGRAM, tests: [{ expected: { base64: "?" } }] }, /is not base64/],
    [{ ...PROGRAM, tests: [{ expected: "", name: "../x\n" }] }, /^tests\.0\.name: is not a name/],
    [{ ...PROGRAM, tests: [{ expected: "", points: -1 }] }, /^tests\.0\.points: /],
    [{ ...PROGRAM, tests: [{ expected: "", points: 1_000_001 }] }, /^tests\.0\.points: /],
    [{ ...PROGRAM, tests: [{ expected: "", points: 1e308 }] }, /^tests\.0\.points: /],
    [
      { ...PROGRAM, tests: [{ expected: "", limits: { cpu_time_secs: 1e9 } }] },
      /^tests\.0\.limits\.cpu_time_secs: at most/,
    ],
    [{ ...PROGRAM, tests, checker: "magic" }, /^checker: /],
    ...foreignOptions().map(
      ([type, option, value]) =>
        [{ ...PROGRAM, tests, checker: { type, [option]: value } }, new RegExp(`^checker: .*"${option}"$`)] as const,
    ),
    [
      { ...PROGRAM, tests: [{ expected: "\\p{L}".repeat(1_000) }], checker: "regex" },
      /^tests\.0\.expected: an expression has/,
    ],
    [
      { ...PROGRAM, tests: Array.from({ length: 101 }, (_, at) => ({ expected: "", group: `g${at}` })) },
      /^tests: more than 100 groups/,
    ],
    [{ ...PROGRAM, tests, checker: { ...checker, language: "cobol" } }, /^unsupported language/],
    [{ ...PROGRAM, tests, checker: { ...checker, files: { "judge/answer": "" } } }, /^checker\.files: /],
    [{ ...PROGRAM, tests, checker: { ...checker, args: ["\0"] } }, /^checker\.args: /],
    [{ ...PROGRAM, tests, groups: [{ name: "a" }] }, /^groups\.0: "a" has no tests/],
    [
      { ...PROGRAM, tests: [{ expected: "", group: "a" }], groups: [{ name: "a", depends: ["a"] }] },
      /^groups\.0\.depends/,
    ],
    [{ ...PROGRAM, tests, stop: "always" }, /^stop: /],
    [{ ...PROGRAM, tests, stdin: "x" }, /^the body: /],
    [{ language: "python", tests }, /^code is required$/],
  ] as const) {
    const { status, json } = await judge(body, "");
    assert.deepEqual([status, error.test(json.error)], [400, true], JSON.stringify(json));
  }
  const lines: string[] = [];
  await store.backup(async (line) => void lines.push(line));
  assert.ok(!lines.some((line) => /^\["?\d/.test(line) && line.includes("lines")), "a version was stored");
});

test("a judgement that does not end in time is 408 with its id", LIMIT, async (t) => {
  const { judge, ask } = await judging(t, temporaryStore, { idle: true, holdMs: 50 });
  const { status, json } = await judge(HELLO);
  assert.deepEqual([status, json.status], [408, "pending"]);
  assert.equal((await ask({ path: `/api/judgements/${json.id}` })).json.id, json.id);
});

test("an output that makes a regular expression slow is wrong and delays no other request", LIMIT, async (t) => {
  const { judge, ask } = await judging(t, temporaryStore);
  const slow = judge({ ...PROGRAM, checker: "regex", tests: [{ stdin: "a".repeat(40), expected: "(a+)+b" }] });
  const started = performance.now();
  while (performance.now() - started < 1_000) await ask({ path: "/api/languages" });
  const good = await judge({ ...PROGRAM, checker: "regex", tests: [{ stdin: "4", expected: "\\d+" }] });
  const { json } = await slow;
  assert.deepEqual(
    [json.verdict, json.runs[0].message],
    ["WA", "the output does not match the expression within 1 s of CPU time"],
  );
  assert.equal(good.json.verdict, "AC");
  const broken = await judge({ ...PROGRAM, checker: "regex", tests: [{ stdin: "4", expected: "(" }] });
  assert.deepEqual(
    [broken.json.verdict, broken.json.runs[0].message],
    ["IE", "the answer is not a regular expression of JavaScript"],
  );
});

test("a key cannot judge again with permissions that it does not have", LIMIT, async (t) => {
  const { judge, ask, key } = await judging(t, temporaryStore, { idle: true });
  const [agent, other] = [
    await key({ account: "one", profiles: ["agent"] }),
    await key({ account: "one", name: "other", profiles: ["judge"] }),
  ];
  const { json } = await judge(HELLO, "", { key: agent });
  const path = `/api/judgements/${json.id}/rejudge`;
  assert.equal((await ask({ method: "POST", path, key: other })).status, 403);
  assert.equal((await ask({ method: "POST", path, key: agent })).status, 202);
});

test("a request of 60 MiB is accepted", { timeout: 60_000 }, async (t) => {
  const { judge, store } = await judging(t, temporaryStore, { idle: true });
  const stdin = "\u00e9x\n".repeat(640_000);
  const tests = Array.from({ length: 20 }, (_, at) => ({ stdin, expected: `${at}` }));
  const body = { ...PROGRAM, tests };
  assert.ok(Buffer.byteLength(JSON.stringify(body)) > 60 * 1_048_576);
  const accepted = await judge(body, "");
  assert.equal(accepted.status, 202, JSON.stringify(accepted.json));
  const [claim] = await store.submissions.claim("w", 60_000, 1);
  assert.equal(claim?.program.stdin.toString(), stdin);
  assert.equal((await judge({ ...body, tests: [...tests, ...tests] }, "")).status, 413);
  // Errors of the thread that parses large bodies.
  const large = { stdin: "x".repeat(17_000_000), expected: "" };
  const many = { ...PROGRAM, tests: [large, ...Array(3_000).fill([])] };
  assert.match((await judge(many, "")).json.error, /^tests: /);
  const more = { ...PROGRAM, tests: [large, ...Array(9_000).fill([])] };
  assert.equal((await judge(more, "")).json.error, "request body has more than 8192 values");
  assert.match((await judge({ ...PROGRAM, tests: [large] }, "")).json.error, /^tests\.0: more than 16777216 bytes/);
  // Bounded before it is decoded, which would take long.
  const encoded = { base64: "!".repeat(23_000_000) };
  const inTest = await judge({ ...PROGRAM, tests: [{ stdin: encoded, expected: "" }] }, "");
  assert.match(inTest.json.error, /^tests\.0: more than 16777216 bytes/);
  const inFiles = await judge({ ...PROGRAM, files: { a: encoded }, tests: [{ expected: "" }] }, "");
  assert.match(inFiles.json.error, /^files: more than 1048576 bytes/);
  const inCode = await judge({ language: "python", code_base64: encoded.base64, tests: [{ expected: "" }] }, "");
  assert.match(inCode.json.error, /^code must be at most 262144 bytes/);
});

test("the answers of a test have 16 MiB together", { timeout: 60_000 }, async (t) => {
  const { judge } = await judging(t, temporaryStore, { idle: true });
  const withAnswers = (expected: readonly unknown[]) => judge({ ...PROGRAM, tests: [{ expected }] }, "");
  const answer = "x".repeat(8_388_608);
  const eight = Array.from({ length: 8 }, () => "x".repeat(2_097_152));
  assert.equal((await withAnswers([answer, answer])).status, 202);
  assert.equal((await withAnswers(eight)).status, 202);
  const reason = /^tests\.0\.expected: more than 16777216 bytes in all answers together/;
  const twoBytes = "\u00e9".repeat(1_048_577);
  for (const expected of [
    [answer, answer, "x"],
    // Known before they are decoded, and only then.
    [answer, answer, { base64: "!".repeat(5_000) }],
    [...eight.slice(1), twoBytes],
  ]) {
    const refused = await withAnswers(expected);
    assert.equal(refused.status, 400);
    assert.match(refused.json.error, reason);
  }
});

test("fifty tests count like one request", LIMIT, async (t) => {
  const { judge, key } = await judging(t, temporaryStore, { idle: true });
  const few = await key({ requestsPerMinute: 3 });
  const tests = (amount: number) => ({ ...PROGRAM, tests: Array(amount).fill(HELLO.tests[0]) });
  assert.equal((await judge(tests(150), "", { key: few })).status, 202);
  assert.equal((await judge(tests(1), "", { key: few })).status, 429);
  // A refusal counts only the request and the first fifty of its other tests.
  const more = await key({ requestsPerMinute: 5 });
  const refused = await judge(tests(450), "", { key: more });
  assert.deepEqual([refused.status, refused.headers["retry-after"]], [429, "60"]);
  assert.equal((await judge(tests(150), "", { key: more })).status, 202);
});

test("16 MiB of tests count like one request, in their decoded form", { timeout: 60_000 }, async (t) => {
  const { judge, key, store } = await judging(t, temporaryStore, { idle: true });
  const full = { stdin: "x".repeat(4_194_303), expected: "y" };
  const encoded = { stdin: { base64: Buffer.from(full.stdin).toString("base64") }, expected: "y" };
  const exactly = { ...PROGRAM, tests: [full, full, full, encoded] };
  const more = { ...PROGRAM, tests: [...exactly.tests, { stdin: "", expected: "y" }] };
  const few = await key({ requestsPerMinute: 4 });
  const left = async (body: object) => {
    const { status, headers } = await judge(body, "", { key: few });
    return [status, headers["ratelimit-remaining"]];
  };
  assert.deepEqual(await left(exactly), [202, "3"]);
  assert.deepEqual(await left(more), [202, "1"]);
  // The request itself counts when it arrives; the rest does not fit, and nothing is stored.
  assert.deepEqual(await left(more), [429, "0"]);
  assert.equal(await store.submissions.depth(), 2);
});
