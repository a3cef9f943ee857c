import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { MAX_BODY_BYTES } from "../../../../src/http/body.ts";
import { FROM_OWN_PAGE } from "../../../support/http/dashboard/signed-in.ts";
import { API, type Asker, entriesOf, NOT_THERE, startTwoTenants } from "../../../support/http/dashboard/two-tenants.ts";
import { PACKAGES, type PackageTexts } from "../../../support/problems/packages.ts";
import { zipOf } from "../../../support/problems/zip.ts";
import { onEachEngine, temporaryStore } from "../../../support/store/temporary.ts";

const LIMIT = { timeout: 60_000 };
const ZIP = { "content-type": "application/zip" };
const NONE = "00000000-0000-4000-8000-000000000000";

const archive = (texts: PackageTexts) =>
  zipOf(Object.entries(texts).map(([path, data]) => ({ name: `factors/${path}`, data })));
const FACTORS = archive(PACKAGES.factors);

const upload = ({ person }: Asker, account: string, { query = "", body = FACTORS, headers = ZIP } = {}) =>
  person.ask({ method: "POST", path: `${API}/problems?account=${account}${query}`, body, headers });

onEachEngine((open) => {
  test("an import creates a problem with groups and versions, and an audit entry", LIMIT, async (t) => {
    const club = await startTwoTenants(t, { open });
    const { ada, accountId } = club;
    assert.deepEqual((await ada("GET", "/problems")).json, { problems: [], next: null });
    const first = await upload(ada, accountId);
    assert.equal(first.status, 200, first.text);
    const { id } = first.json;
    assert.deepEqual(first.json, { id, version: 1, isNew: true });
    assert.deepEqual((await upload(ada, accountId)).json, { id, version: 1, isNew: false });
    const changed = archive({ ...PACKAGES.factors, "data/sample/1.in": "10\n" });
    assert.deepEqual((await upload(ada, accountId, { body: changed })).json, { id, version: 2, isNew: true });
    const [row] = (await ada("GET", "/problems")).json.problems;
    const { createdAt: _, updatedAt: __, ...rest } = row;
    assert.deepEqual(rest, {
      ...{ id, name: "factors", title: "Factors", account: { id: accountId, name: "club" } },
      ...{ version: 2, tests: 5, bytes: 33, cpuMs: 2_000, memoryBytes: 134_217_728 },
    });
    const { versions, groups, checker, ...same } = (await ada("GET", `/problems/${id.toUpperCase()}`)).json;
    assert.deepEqual(same, row);
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
        ["secret/1-small", "min", [], 30, 1],
        ["secret/2-sum", "sum", ["secret/1-small"], 30, 2],
        ["secret/3-large", "min", ["sample", "secret/1-small"], 40, 1],
      ],
    );
    assert.deepEqual(Object.keys(groups[2].tests[0]), ["name", "points"]);
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
  // Above the size of other bodies, which is above that of a form.
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
