import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Outcome } from "../../../../src/domain/outcome.ts";
import type { Claim } from "../../../../src/store/submissions/types.ts";
import { buildOutcome } from "../../../../src/verdict/build-outcome.ts";
import { signedIn } from "../../../support/http/dashboard/signed-in.ts";
import { NOT_THERE, startTwoTenants, type TwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import { runPending } from "../../../support/http/running.ts";
import { onEachDatabase } from "../../../support/store/temporary.ts";
import { report, signalled } from "../../../support/verdict/reports.ts";
import { watch } from "./watching.ts";

const PROGRAM = { language: "python", code: "x = 'é'" };
const TESTS = {
  ...PROGRAM,
  stop: "never",
  groups: [{ name: "hard", rule: "min", depends: ["easy"] }],
  tests: [
    { stdin: "a", expected: "aa", group: "easy" },
    { stdin: "b", expected: ["x", "y"], points: 2.5, group: "easy", limits: { cpu_time_secs: 0.5 } },
    { stdin: "c", expected: "cc", group: "hard" },
  ],
};

/** Prints its input twice. */
function doubled({ program }: Claim): Outcome {
  return buildOutcome({ execute: report({ stdout: Buffer.concat([program.stdin, program.stdin]) }) });
}

async function runAll({ running }: TwoTenants, outcomeOf: (claim: Claim) => Outcome = doubled): Promise<void> {
  while ((await runPending(running.store, outcomeOf)) > 0);
}

/** A judgement by a key of Ada's project. */
async function judged({ running }: TwoTenants, body: object = TESTS): Promise<string> {
  const key = await running.key({ project: "shop", concurrency: 100 });
  const { status, json, text } = await running.ask({ method: "POST", path: "/api/judgements", key, body });
  assert.equal(status, 202, text);
  return json.id;
}

onEachDatabase((open) => {
  test("a member finds only judgements of their accounts; an administrator finds all", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { running, root, ada, eve, accountId, projectId, other } = club;
    const mine = await judged(club);
    await runAll(club);
    const young = await judged(club, { ...TESTS, language: "c" });
    const outsider = await signedIn(running, "outsider@example.com", []);
    const find = async (member: Pick<typeof ada, "person">, query = "") => {
      const { status, json, text } = await member.person.ask({ path: `/dashboard/api/judgements${query}` });
      assert.equal(status, 200, text);
      return json.judgements.map(({ id }: { id: string }) => id);
    };
    assert.deepEqual(await find(ada), [young, mine]);
    assert.deepEqual(await find(root), [young, mine]);
    assert.deepEqual(await find(eve), []);
    assert.deepEqual(await find({ person: outsider }), []);
    assert.deepEqual(await find(ada, "?verdict=WA"), [mine]);
    assert.deepEqual(await find(ada, "?status=pending&language=c"), [young]);
    assert.deepEqual(await find(ada, `?project=${projectId}&account=${accountId}`), [young, mine]);
    assert.deepEqual(await find(eve, `?project=${projectId}`), []);
    assert.deepEqual(await find(root, `?project=${other.projectId}`), []);
    assert.deepEqual(await find(ada, `?id=${mine.toUpperCase()}`), [mine]);
    assert.deepEqual(await find(eve, `?id=${mine}`), []);
    const soon = new Date(Date.now() + 60_000).toISOString();
    assert.deepEqual([await find(ada, `?since=${soon}`), await find(ada, `?until=${soon}`)], [[], [young, mine]]);
    const first = (await ada("GET", "/judgements?limit=1")).json;
    const last = (await ada("GET", `/judgements?limit=1&before=${first.next}`)).json;
    assert.deepEqual([first.judgements[0].id, last.judgements[0].id, last.next], [young, mine, null]);
    const { createdAt: _, completedAt: __, key, ...row } = last.judgements[0];
    assert.match(key.name, /^key /);
    assert.deepEqual(row, {
      problem: null,
      ...{ id: mine, status: "completed", verdict: "WA", score: 1, passed: 1, ended: 2, total: 3 },
      ...{ language: "python", profile: "judge" },
      account: { id: accountId, name: "club" },
      project: { id: projectId, name: "shop" },
    });
    assert.deepEqual((await eve("GET", `/judgements?account=${accountId}`)).json, NOT_THERE);
    assert.equal((await ada("GET", "/judgements?verdict=OK")).status, 400);
    assert.equal((await ada("GET", "/submissions?verdict=WA")).status, 400);
  });

  test("a judgement has its groups, its tests with their limits, and its source", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { ada } = club;
    const id = await judged(club, { ...TESTS, checker: { type: "floats", case_sensitive: false, absolute: 0.1 } });
    const before = (await ada("GET", `/judgements/${id}`)).json;
    assert.deepEqual(
      before.tests.map(({ state }: { state: string }) => state),
      ["queued", "waiting", "waiting"],
    );
    await runAll(club);
    const { json } = await ada("GET", `/judgements/${id.toUpperCase()}`);
    assert.deepEqual([json.row.verdict, json.score, json.maxScore, json.stop], ["WA", 1, 4.5, "never"]);
    assert.deepEqual(json.groups, [
      { name: "easy", rule: "sum", parent: null, depends: [], score: 1, maxScore: 3.5, passed: false },
      { name: "hard", rule: "min", parent: null, depends: ["easy"], score: 0, maxScore: 1, passed: false },
    ]);
    assert.deepEqual(
      json.tests.map((one: Record<string, unknown>) => [one.name, one.state, one.points, one.maxPoints, one.message]),
      [
        ["1", "AC", 1, 1, null],
        ["2", "WA", 0, 2.5, 'token 1: expected "x", got "bb"'],
        ["3", "skipped", 0, 1, null],
      ],
    );
    const [first, second] = json.limits;
    assert.deepEqual([json.limits.length, second], [3, { ...first, cpuMs: 500 }]);
    assert.deepEqual(json.source, { name: "main.py", text: "x = 'é'" });
    assert.deepEqual(json.checker, {
      ...{ type: "floats", caseSensitive: false, absolute: 0.1, relative: null, program: null },
    });
    const files = { "other.py": "pass", "lib/a.py": "y" };
    const several = await judged(club, {
      language: "python",
      files,
      entry: "other.py",
      tests: TESTS.tests.slice(0, 1),
    });
    const program = (await ada("GET", `/judgements/${several}`)).json;
    assert.deepEqual([program.source, program.files], [{ name: "other.py", text: "pass" }, ["lib/a.py"]]);
  });

  test("a test has its input, its answers and the evidence of its run, each text up to 64 KiB", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { ada } = club;
    const long = `${"x".repeat(65_535)}é${"y".repeat(100)}`;
    const id = await judged(club, { ...PROGRAM, tests: [{ stdin: "b", expected: ["x", long] }, { expected: "z" }] });
    const path = `/judgements/${id}/tests`;
    assert.equal((await ada("GET", `${path}/0`)).json.run, null);
    await runAll(club, () => ({
      ...buildOutcome({ execute: signalled(9, { oomKills: 1, stdout: Buffer.from(long), stdoutSeen: 999_999 }) }),
      runStats: {
        compileMs: null,
        execute: {
          ...{ runMs: 20, teardownMs: 2, processesPeak: 3, stdoutBytes: 0, stderrBytes: 0 },
          limits: { wallMs: 10_000, cpuMs: 4_000, stdoutBytes: 100, stderrBytes: 100 },
        },
      },
    }));
    const { json } = await ada("GET", `${path}/0`);
    // The character that would be cut in the middle is omitted.
    const shown = { text: "x".repeat(65_535), size: 65_637, cut: true };
    assert.deepEqual(json.input, { text: "b", size: 1, cut: false });
    assert.deepEqual(json.expected, [{ text: "x", size: 1, cut: false }, shown]);
    assert.deepEqual([json.run.stdout, json.run.integrity], [shown, "truncated_by_judge_limit"]);
    assert.deepEqual([json.run.row.verdict, json.run.explanation.title], ["MLE", "Memory limit exceeded"]);
    assert.ok(json.run.proofs.some(({ field }: { field: string }) => field === "limits.cgroup.oom_kill_events"));
    assert.equal(json.run.usage.length, 6);
    const submission = (await ada("GET", `/submissions/${json.run.row.id}`)).json;
    assert.deepEqual(submission.run, { judgementId: id, test: 0 });
    const left = (await ada("GET", `${path}/1`)).json;
    assert.deepEqual(left, {
      input: { text: "", size: 0, cut: false },
      expected: [{ text: "z", size: 1, cut: false }],
      run: null,
    });
    for (const test of ["2", "00000", "-1", "x", "1e1", "%00"])
      assert.ok((await ada("GET", `${path}/${test}`)).status >= 400, test);
  });

  test("no route shows or changes a judgement of another account", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { running, ada, eve } = club;
    const id = await judged(club);
    for (const [method, path] of [
      ["GET", ""],
      ["GET", "/tests/0"],
      ["GET", "/live"],
      ["POST", "/cancel"],
      ["POST", "/rejudge"],
      ["POST", "/compare"],
    ] as const) {
      const body = path === "/compare" ? { path: "p", expectations: [] } : {};
      for (const which of [id, "no-such"]) {
        const { status, json } = await eve(method, `/judgements/${which}${path}`, method === "POST" ? body : undefined);
        assert.deepEqual([status, json], [404, NOT_THERE], path);
      }
      const anonymous = await running.ask({ method, path: `/dashboard/api/judgements/${id}${path}`, key: null });
      assert.ok([401, 403].includes(anonymous.status), `${path}: ${anonymous.status}`);
    }
    const body = { ...TESTS, accountId: club.accountId };
    assert.deepEqual((await eve("POST", "/judgements", body)).json, NOT_THERE);
    assert.equal((await ada("GET", `/judgements/${id}`)).json.row.status, "pending");
    assert.equal(await running.store.submissions.depth(), 1);
  });

  test("a judgement of the playground is charged to its key, and can be cancelled and repeated", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { running, ada, accountId } = club;
    const body = { ...PROGRAM, accountId, stop: "never", profile: "judge", checker: "tokens" };
    const tests = [
      { stdin: "\0", expected: "\0\0", points: 1 },
      { stdin: "b", expected: "c", points: 2 },
    ];
    const { status, json } = await ada("POST", "/judgements", { ...body, tests });
    assert.equal(status, 202);
    await runAll(club);
    const { row } = (await ada("GET", `/judgements/${json.id}`)).json;
    assert.deepEqual([row.key.name, row.project, row.score, row.verdict], ["playground", null, 1, "WA"]);
    assert.match((await ada("POST", "/judgements", { ...body, tests: [] })).json.error, /^tests: /);
    assert.match((await ada("POST", "/judgements", { ...body, tests, profile: "agent" })).json.error, /agent/);
    const again = (await ada("POST", `/judgements/${json.id}/rejudge`)).json.id;
    assert.notEqual(again, json.id);
    const cancel = async () => (await ada("POST", `/judgements/${again}/cancel`)).json;
    assert.deepEqual([await cancel(), await cancel()], [{ cancelled: true }, { cancelled: false }]);
    const ended = (await ada("GET", `/judgements/${again}`)).json;
    assert.deepEqual([ended.row.status, ended.row.verdict, ended.row.ended], ["error", "IE", 0]);
    assert.equal(await runPending(running.store), 0);
    const { entries } = (await ada("GET", "/audit")).json;
    const changes = entries.filter(({ action }: { action: string }) => action.startsWith("judgement."));
    assert.deepEqual(
      changes.map(({ actor, action, subject }: Record<string, string>) => [actor, action, subject]),
      [["ada@example.com", "judgement.cancel", again]],
    );
  });

  test("the audit trail of the account records reads by an administrator", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { root, ada } = club;
    const id = await judged(club);
    const readings = async () =>
      (await ada("GET", "/audit")).json.entries
        .filter(({ action }: { action: string }) => action === "judgement.read")
        .map(({ actor, subject }: Record<string, string>) => [actor, subject]);
    await ada("GET", `/judgements/${id}`);
    assert.deepEqual(await readings(), []);
    assert.equal((await root("GET", `/judgements/${id}/tests/0`)).status, 200);
    assert.equal((await root("GET", `/judgements/${id}`)).status, 200);
    assert.deepEqual(await readings(), [["root@example.com", id]]);
  });

  test("a viewer receives the states of a judgement until its end, or the end of the session", async (t) => {
    const club = await startTwoTenants(t, { open });
    const { running, ada } = club;
    const id = await judged(club, { ...TESTS, groups: [] });
    const watching = await watch(running, ada.person, id, "judgements");
    const states = ({ data }: { data: { tests: readonly { state: string }[] } }) =>
      data.tests.map(({ state }) => state);
    assert.deepEqual(states(await watching.next("state")), ["queued", "waiting", "waiting"]);
    assert.equal(await runPending(running.store, doubled), 1);
    assert.deepEqual(states(await watching.next("state", 2)), ["AC", "queued", "queued"]);
    await runAll(club);
    const { data } = await watching.next("ended");
    assert.deepEqual([data.row.status, data.row.verdict, data.score], ["completed", "WA", 2]);
    await watching.ended;
    const open2 = await watch(running, ada.person, await judged(club), "judgements");
    await open2.next("state");
    const cookie = ada.person.cookie;
    await running.ask({
      method: "DELETE",
      path: "/dashboard/api/session",
      key: null,
      body: {},
      headers: { cookie, "sec-fetch-site": "same-origin" },
    });
    const late = sleep(5_000, null, { ref: false }).then(() => assert.fail("the stream is still open"));
    await Promise.race([open2.ended, late]);
  });
});
