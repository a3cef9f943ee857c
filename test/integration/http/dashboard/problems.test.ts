import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import type { Outcome } from "../../../../src/domain/outcome.ts";
import { MAX_BODY_BYTES } from "../../../../src/http/body/body.ts";
import type { Claim } from "../../../../src/store/submissions/types.ts";
import { buildOutcome } from "../../../../src/verdict/build-outcome.ts";
import { FROM_OWN_PAGE } from "../../../support/http/dashboard/signed-in.ts";
import { API, type Asker, entriesOf, NOT_THERE, startTwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import { runPending } from "../../../support/http/running.ts";
import { PACKAGES, type PackageTexts } from "../../../support/problems/packages.ts";
import { zipOf } from "../../../support/problems/zip.ts";
import { onEachDatabase, temporaryStore } from "../../../support/store/temporary.ts";
import { report } from "../../../support/verdict/reports.ts";

const LIMIT = { timeout: 60_000 };
const ZIP = { "content-type": "application/zip" };
const NONE = "00000000-0000-4000-8000-000000000000";

const archive = (texts: PackageTexts) =>
  zipOf(Object.entries(texts).map(([path, data]) => ({ name: `factors/${path}`, data })));
const FACTORS = archive(PACKAGES.factors);

const upload = ({ person }: Asker, account: string, { query = "", body = FACTORS, headers = ZIP } = {}) =>
  person.ask({ method: "POST", path: `${API}/problems?account=${account}${query}`, body, headers });

onEachDatabase((open) => {
  test("an import creates a problem with groups and versions, and an audit entry", LIMIT, async (t) => {
    const club = await startTwoTenants(t, { open });
    const { ada, accountId } = club;
    assert.deepEqual((await ada("GET", "/problems")).json, { problems: [], next: null });
    const first = await upload(ada, accountId);
    assert.equal(first.status, 200, first.text);
    const { id } = first.json;
    assert.deepEqual(first.json, { id, version: 1, isNew: true, verification: null });
    assert.deepEqual((await upload(ada, accountId)).json, { id, version: 1, isNew: false, verification: null });
    const changed = archive({ ...PACKAGES.factors, "data/sample/1.in": "10\n" });
    assert.deepEqual((await upload(ada, accountId, { body: changed })).json, {
      ...{ id, version: 2, isNew: true, verification: null },
    });
    const [row] = (await ada("GET", "/problems")).json.problems;
    const { createdAt: _, updatedAt: __, ...rest } = row;
    assert.deepEqual(rest, {
      ...{ id, name: "factors", title: "Factors", account: { id: accountId, name: "club" } },
      ...{ version: 2, tests: 5, bytes: 33, cpuMs: 2_000, memoryBytes: 134_217_728, faults: [] },
    });
    const { versions, groups, checker, answers, ...same } = (await ada("GET", `/problems/${id.toUpperCase()}`)).json;
    assert.deepEqual([same, answers], [row, null]);
    assert.deepEqual(checker.program, { interface: "kattis", language: "cpp" });
    assert.deepEqual(
      versions.map(({ version, bytes }: Record<string, unknown>) => [version, bytes]),
      [
        [2, 33],
        [1, 32],
      ],
    );
    assert.deepEqual(
      groups.map((group: Record<string, unknown> & { tests: object[] }) => [
        ...[group.name, group.rule, group.depends, group.points],
        group.tests.length,
      ]),
      [
        ["sample", "sum", [], 0, 1],
        ["secret", "sum", [], 100, 0],
        ["secret/1-small", "all", [], 30, 1],
        ["secret/2-sum", "sum", ["secret/1-small"], 30, 2],
        ["secret/3-large", "least", ["sample", "secret/1-small"], 40, 1],
      ],
    );
    assert.deepEqual(Object.keys(groups[3].tests[0]), ["name", "points"]);
    assert.equal((await ada("DELETE", `/problems/${id}`)).status, 204);
    assert.deepEqual((await ada("GET", `/problems/${id}`)).json, NOT_THERE);
    assert.equal((await ada("DELETE", `/problems/${id}`)).status, 404);
    const entries = await entriesOf(club, ada);
    assert.deepEqual(
      entries.filter(([, subject]) => subject === id),
      [
        ["problem.delete", id],
        ["problem.import", id],
        ["problem.import", id],
      ],
    );
  });

  test("a member cannot access problems of another account; an administrator can", LIMIT, async (t) => {
    const { ada, eve, root, accountId, other, running } = await startTwoTenants(t, { open });
    const mine = (await upload(ada, accountId)).json.id;
    const theirs = (await upload(eve, other.accountId)).json.id;
    assert.notEqual(mine, theirs);
    const list = async (ask: Asker, query = "") =>
      (await ask("GET", `/problems${query}`)).json.problems?.map(({ id }: { id: string }) => id);
    assert.deepEqual([await list(ada), await list(eve)], [[mine], [theirs]]);
    assert.deepEqual(await list(root), [theirs, mine]);
    assert.deepEqual(await list(root, `?account=${accountId}`), [mine]);
    for (const id of [mine, NONE, "x"]) {
      assert.deepEqual((await eve("GET", `/problems/${id}`)).json, NOT_THERE);
      assert.deepEqual((await eve("DELETE", `/problems/${id}`)).json, NOT_THERE);
    }
    assert.deepEqual((await eve("GET", `/problems?account=${accountId}`)).json, NOT_THERE);
    const foreign = await upload(eve, accountId, { query: "&name=other" });
    assert.deepEqual([foreign.status, foreign.json], [404, NOT_THERE]);
    assert.deepEqual(await list(ada), [mine]);
    assert.equal((await root("GET", `/problems/${mine}`)).status, 200);
    const page = (await root("GET", "/problems?limit=1")).json;
    assert.deepEqual([page.problems[0].id, await list(root, `?limit=1&before=${page.next}`)], [theirs, [mine]]);
    const judged = async (ask: Asker, accountId: string, problem: string) =>
      (await ask("POST", "/judgements", { accountId, language: "python", code: "x", profile: "judge", problem })).json
        .id;
    const judgement = await judged(ada, accountId, mine);
    await judged(eve, other.accountId, theirs);
    const found = async (ask: Asker, query: string) =>
      (await ask("GET", `/judgements?${query}`)).json.judgements?.map((row: Record<string, unknown>) => [
        row.id,
        row.problem,
      ]);
    const row = [judgement, { id: mine, name: "factors", version: 1 }];
    assert.deepEqual(await found(ada, `problem=${mine.toUpperCase()}`), [row]);
    assert.deepEqual(await found(root, `problem=${mine}`), [row]);
    assert.deepEqual(await found(eve, `problem=${mine}`), []);
    assert.deepEqual(await found(ada, `problem=${theirs}`), []);
    assert.deepEqual(await found(ada, `problem=${NONE}`), []);
    assert.equal((await ada("GET", "/judgements?problem=x%00")).status, 400);
    assert.equal((await ada("GET", `/submissions?problem=${mine}`)).status, 400);
    const anonymous = { path: `${API}/problems`, key: null, headers: FROM_OWN_PAGE };
    assert.equal((await running.ask(anonymous)).status, 401);
    assert.equal(
      (await running.ask({ ...anonymous, method: "POST", body: FACTORS, headers: { ...FROM_OWN_PAGE, ...ZIP } }))
        .status,
      401,
    );
  });
});

/** Runs of the submissions of the package `sum`, with wrong results for one of them. */
function sumOf({ program }: Claim): Outcome {
  const code = (program.options?.files ?? []).map(({ data }) => String(data)).join();
  if (code.includes("SystemExit")) return buildOutcome({ execute: report({ exitCode: 1 }) });
  if (code.includes("int a, b")) return buildOutcome({ execute: report({ stdout: Buffer.from("-1") }) });
  const [a = 0, b = 0] = String(program.stdin).split(" ").map(Number);
  return buildOutcome({ execute: report({ stdout: Buffer.from(`${a + b}`) }) });
}

test("submissions of a package are judged on its version, and compared with its expectations", LIMIT, async (t) => {
  const { ada, eve, accountId, running } = await startTwoTenants(t, { open: temporaryStore });
  const body = zipOf(Object.entries(PACKAGES.sum).map(([name, data]) => ({ name, data })));
  const query = "&name=sum&time_limit=1";
  assert.equal((await upload(ada, accountId, { body, query })).json.verification, null);
  const { json, text } = await upload(ada, accountId, { body, query: `${query}&verify=true` });
  assert.deepEqual([json.version, json.isNew], [1, false], text);
  const { until, submissions } = json.verification;
  const of = (name: string) =>
    submissions.find(({ path }: { path: string }) => path.endsWith(`/${name}`)) ?? assert.fail(name);
  assert.equal(
    submissions.length,
    Object.keys(PACKAGES.sum).filter((path) => /^submissions\/[^/]+\/[^/]+$/.test(path)).length + 1,
  );
  assert.deepEqual([of("sum.cob").judgementId, of("sum.cob").error], [null, null]);
  assert.deepEqual(of("overflow.c").expected, ["WA"]);
  const { path, expectations } = of("sum.py");
  const compare = async (ask: Asker, id: string, part: object = {}) =>
    await ask("POST", `/judgements/${id}/compare`, { path, expectations, ...part });
  assert.deepEqual((await compare(ada, of("sum.py").judgementId)).json, NOT_THERE, "it has not ended");
  while ((await runPending(running.store, sumOf)) > 0);
  const rows = (await ada("GET", `/judgements?problem=${json.id}&until=${until}`)).json.judgements;
  const judged = submissions.filter((one: { judgementId: string | null }) => one.judgementId !== null);
  assert.deepEqual(
    rows.map(({ id }: { id: string }) => id).toReversed(),
    judged.map((one: { judgementId: string }) => one.judgementId),
  );
  const [row] = rows;
  assert.deepEqual([row.key.name, row.total, row.problem.version], ["playground", 3, 1]);
  const faults = async (name: string) => {
    const { path, expectations, judgementId } = of(name);
    const compared = await compare(ada, judgementId, { path, expectations });
    assert.equal(compared.status, 200, compared.text);
    return compared.json.faults;
  };
  for (const name of ["sum.py", "two", "overflow.c", "fails.py"]) assert.deepEqual(await faults(name), [], name);
  assert.match((await faults("waits.py")).join(), /^is AC instead of TLE: 3 AC, the slowest is [^,]+$/);
  const id = of("sum.py").judgementId;
  assert.deepEqual((await compare(eve, id)).json, NOT_THERE);
  const [first] = expectations;
  for (const wrong of [
    Array(9).fill(first),
    [{ ...first, permitted: Array(6).fill("AC") }],
    [{ ...first, tests: "x".repeat(81) }],
    [{ ...first, tests: "{a,b}".repeat(4) }],
    [{ ...first, message: "x".repeat(201) }],
  ])
    assert.equal((await compare(ada, id, { expectations: wrong })).status, 400);
});

test("the bounds of a verification are those of the package and of the key", LIMIT, async (t) => {
  const { ada, root, accountId } = await startTwoTenants(t, { open: temporaryStore });
  const send = (texts: PackageTexts) => {
    const body = zipOf(Object.entries(texts).map(([name, data]) => ({ name, data })));
    return upload(ada, accountId, { body, query: "&name=sum&time_limit=1&verify=true" });
  };
  const many = (amount: number, directory = "accepted") =>
    Object.fromEntries(Array.from({ length: amount }, (_, at) => [`submissions/${directory}/${at}.py`, "x"]));
  const small = { "problem.yaml": "name: Sum\n", "data/secret/1.in": "1 2\n", "data/secret/1.ans": "3\n" };
  for (const [texts, message] of [
    [many(51), /^submissions: has more than 50 programs/],
    [{ "submissions/accepted/a?b.py": "x" }, /is not a valid name/],
    [{ "submissions/accepted/\u202e.py": "x" }, /is not a valid name/],
  ] as const) {
    const { status, json } = await send({ ...small, ...texts });
    assert.deepEqual([status, message.test(json.error)], [422, true], json.error);
  }
  assert.deepEqual((await ada("GET", "/problems")).json.problems, []);
  const changed = await root("PUT", "/tiers/beta", { requestsPerMinute: 10, concurrency: 10 });
  assert.equal(changed.status, 200, changed.text);
  const { verification } = (await send({ ...small, ...many(12) })).json;
  const errors = verification.submissions.map(({ error }: { error: string | null }) => error);
  // The refused imports and this one have counted as well.
  assert.equal(errors.filter((error: string | null) => error === null).length, 6);
  assert.match(errors.at(-1) ?? "", /quota/);
});

test("errors name the file and line; only archives sent by pages of the dashboard are read", LIMIT, async (t) => {
  const { ada, accountId, running } = await startTwoTenants(t, { open: temporaryStore });
  const yaml = PACKAGES.factors["problem.yaml"] ?? "";
  const wrong = archive({ ...PACKAGES.factors, "problem.yaml": yaml.replace("memory: 128", "memory: 999999") });
  const fault = await upload(ada, accountId, { body: wrong });
  assert.deepEqual(
    [fault.status, /^problem\.yaml:7: limits\.memory: /.test(fault.json.error)],
    [422, true],
    fault.text,
  );
  assert.equal((await upload(ada, accountId, { query: "&time_limit=-1" })).status, 400);
  assert.equal((await upload(ada, accountId, { query: "&name=a%00b" })).status, 400);
  assert.equal((await upload(ada, "", {})).status, 400);
  for (const type of ["application/json", "text/plain", "multipart/form-data; boundary=x"])
    assert.equal((await upload(ada, accountId, { headers: { "content-type": type } })).status, 403, type);
  const foreign = { ...ZIP, "sec-fetch-site": "cross-site" };
  assert.equal((await upload(ada, accountId, { headers: foreign })).status, 403);
  const there = { method: "PATCH", path: `${API}/me`, body: FACTORS, headers: ZIP };
  assert.equal((await ada.person.ask(there)).status, 403);
  assert.deepEqual((await ada("GET", "/problems")).json.problems, []);
  // The package is larger than other bodies may be, and those may be larger than a form.
  const inputs = [1, 2].flatMap((at) => [
    { name: `factors/data/secret/${at}.in`, data: randomBytes(MAX_BODY_BYTES / 2) },
    { name: `factors/data/secret/${at}.ans`, data: "1\n" },
  ]);
  const large = zipOf([{ name: "factors/problem.yaml", data: "name: Large\n" }, ...inputs]);
  const made = await upload(ada, accountId, { query: "&name=large&time_limit=1.5", body: large });
  assert.equal(made.status, 200, made.text);
  assert.equal((await ada("GET", `/problems/${made.json.id}`)).json.cpuMs, 1_500);
  await running.store.accounts.setSuspended(accountId, true, "test");
  assert.equal((await upload(ada, accountId)).status, 403);
});
