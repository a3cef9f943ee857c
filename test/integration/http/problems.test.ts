import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { deflateRawSync } from "node:zlib";
import { PROBLEM_BOUNDS } from "../../../src/http/api/import-problem.ts";
import { Raw } from "../../support/http/raw.ts";
import { type Ask, type Options, runPending, startHttp } from "../../support/http/running.ts";
import { PACKAGES, type PackageTexts } from "../../support/problems/packages.ts";
import { type Member, zipOf } from "../../support/problems/zip.ts";
import { stopwatch } from "../../support/stopwatch.ts";
import { type OpenTemporary, onEachDatabase, temporaryStore } from "../../support/store/temporary.ts";

const LIMIT = { timeout: 60_000 };
const ZIP = { "content-type": "application/zip" };

const membersOf = (texts: PackageTexts, directory = "") =>
  Object.entries(texts).map(([path, data]) => ({ name: `${directory}${path}`, data }));
const FACTORS = zipOf(membersOf(PACKAGES.factors, "factors/"));
const SUM = zipOf(membersOf(PACKAGES.sum));

async function importing(t: TestContext, open: OpenTemporary, options: Options = {}) {
  const running = await startHttp(t, { ...options, open });
  const { ask, store } = running;
  const put = (body: Buffer, query = "", more: Partial<Ask> = {}) =>
    ask({ method: "POST", path: `/api/problems${query}`, body, headers: ZIP, ...more });
  const judge = (body: object, more: Partial<Ask> = {}) =>
    ask({ method: "POST", path: "/api/judgements", body, ...more });
  const get = (path: string, more: Partial<Ask> = {}) => ask({ path: `/api/problems${path}`, ...more });
  const other = await running.key({ account: "other" });
  return { ...running, ask, store, put, judge, get, other };
}

onEachDatabase((open) => {
  test("an imported package becomes a problem whose tests judge programs", LIMIT, async (t) => {
    const { put, judge, get, ask, store } = await importing(t, open);
    const first = await put(FACTORS);
    assert.equal(first.status, 201, first.text);
    const { id, created_at, updated_at, versions, ...rest } = first.json;
    assert.equal(first.headers.location, `/api/problems/${id}`);
    assert.deepEqual(rest, {
      name: "factors",
      title: "Factors",
      version: 1,
      tests: 5,
      bytes: 2 + 3 + 3 + 4 + 20,
      limits: { cpu_time_secs: 2, memory_bytes: 134_217_728 },
      faults: [],
    });
    assert.equal(versions.length, 1);
    const again = await put(FACTORS);
    assert.deepEqual([again.status, again.json], [200, first.json]);
    assert.deepEqual((await get(`/${id}`)).json, first.json);
    assert.deepEqual((await get("")).json.problems, [{ id, ...rest, created_at, updated_at }]);

    const program = { language: "python", code: "x", problem: id, stop: "never" };
    const judged = await judge(program);
    assert.equal(judged.status, 202, judged.text);
    const [claim] = await store.submissions.claim("w", 60_000, 1);
    assert.deepEqual(
      [String(claim?.program.stdin), claim?.test?.limits.stated?.execute, claim?.test?.checker],
      [
        "6\n",
        { cpu_time_secs: 2, memory_bytes: 134_217_728 },
        { type: "program", interface: "kattis", language: "cpp", args: [] },
      ],
    );
    assert.match(String(claim?.test?.checkerProgram?.options?.files[0]?.data), /reject/);
    const { json } = await ask({ path: `/api/judgements/${judged.json.id}` });
    assert.deepEqual([json.problem, json.max_score, json.runs.length], [{ id, version: 1 }, 100, 5]);
    const rejudged = await ask({ method: "POST", path: `/api/judgements/${judged.json.id}/rejudge` });
    assert.equal(rejudged.status, 202);
    const second = await ask({ path: `/api/judgements/${rejudged.json.id}` });
    assert.deepEqual(second.json.problem, { id, version: 1 });
  });

  test(
    "new content creates a new version; a judgement uses the current version or the requested one",
    LIMIT,
    async (t) => {
      const { put, judge, ask } = await importing(t, open);
      const { json: one } = await put(SUM, "?name=sum&time_limit=1.5");
      assert.deepEqual([one.name, one.version, one.limits], ["sum", 1, { cpu_time_secs: 1.5, memory_bytes: null }]);
      const changed = zipOf(membersOf({ ...PACKAGES.sum, "data/secret/3.in": "5 5\n", "data/secret/3.ans": "10\n" }));
      const two = await put(changed, "?name=sum&time_limit=1.5");
      assert.deepEqual([two.status, two.json.id, two.json.version, two.json.tests], [201, one.id, 2, 4]);
      // A different limit makes a new version.
      assert.deepEqual([(await put(changed, "?name=sum&time_limit=2")).json.version], [3]);
      const program = { language: "python", code: "x", problem: one.id };
      const runs = async (body: object) => {
        const judged = await judge(body);
        const { json } = await ask({ path: `/api/judgements/${judged.json.id}` });
        return [json.problem.version, json.runs.length];
      };
      assert.deepEqual(await runs(program), [3, 4]);
      assert.deepEqual(await runs({ ...program, problem_version: 1 }), [1, 3]);
      assert.equal((await judge({ ...program, problem_version: 4 })).status, 404);
    },
  );

  test(
    "a package with faults is stored only if the request allows it, and is mended by a new version",
    LIMIT,
    async (t) => {
      const { put, judge, get, ask, store } = await importing(t, open);
      const init = "checker: near.py\ntest_cases: [{in: a, out: a}, {in: a, out: a}]\n";
      const broken = zipOf(membersOf({ "init.yml": init, a: "1\n" }));
      const refused = await put(broken, "?name=near&time_limit=1");
      assert.deepEqual(
        [refused.status, (await put(broken, "?name=near&time_limit=1&allow_faults=false")).status],
        [422, 422],
      );
      assert.deepEqual((await get("")).json.problems, []);
      const faults = ["init.yml:2: checker: near.py is not in the package"];
      const first = await put(broken, "?name=near&allow_faults=true");
      assert.equal(first.status, 201, first.text);
      assert.deepEqual(
        [first.json.faults, first.json.versions[0].faults, first.json.limits.cpu_time_secs],
        [faults, faults, null],
      );
      const { id } = first.json;
      assert.deepEqual((await get("")).json.problems[0].faults, faults);
      const program = { language: "python", code: "x", problem: id, stop: "never" };
      const judged = await judge(program);
      const [claim] = await store.submissions.claim("w", 60_000, 1);
      assert.equal(claim?.test?.fault, faults[0]);

      const mended = { "init.yml": init, a: "1\n", "near.py": "def check(*_, **__): return True" };
      const second = await put(zipOf(membersOf(mended)), "?name=near&time_limit=1&allow_faults=true");
      assert.deepEqual([second.json.version, second.json.faults, second.json.versions[1].faults], [2, [], faults]);
      assert.deepEqual((await get("")).json.problems[0].faults, []);
      // A judgement that is judged again stays on its version.
      const again = await ask({ method: "POST", path: `/api/judgements/${judged.json.id}/rejudge` });
      assert.equal(again.status, 202);
      await judge(program);
      const claims = await store.submissions.claim("w", 60_000, 2);
      assert.deepEqual(
        claims.map(({ test }) => test?.fault),
        [faults[0], null],
      );
    },
  );

  test("a repeated request returns the same judgement, even after a new version", LIMIT, async (t) => {
    const { put, judge } = await importing(t, open);
    const { json: one } = await put(SUM, "?name=sum&time_limit=1");
    const headers = { "idempotency-key": "0a0c3f0e-6f4e-4b19-9a5c-5f1f3f5c7f10" };
    const program = { language: "python", code: "x", problem: one.id };
    const first = await judge(program, { headers });
    await put(SUM, "?name=sum&time_limit=2");
    assert.deepEqual((await judge(program, { headers })).json, first.json);
    assert.equal((await judge({ ...program, problem_version: 2 }, { headers })).status, 422);
  });

  test("another account has no access", LIMIT, async (t) => {
    const { put, judge, get, ask, other } = await importing(t, open);
    const { json } = await put(FACTORS);
    const key = { key: other };
    assert.equal((await get(`/${json.id}`, key)).status, 404);
    assert.deepEqual((await get("", key)).json.problems, []);
    assert.equal((await ask({ method: "DELETE", path: `/api/problems/${json.id}`, ...key })).status, 404);
    const judged = await judge({ language: "python", code: "x", problem: json.id }, key);
    assert.deepEqual([judged.status, judged.json.error], [404, "problem not found"]);
    const theirs = await put(FACTORS, "", key);
    assert.equal(theirs.status, 201);
    assert.notEqual(theirs.json.id, json.id);
    assert.equal((await get(`/${json.id}`)).status, 200);
  });

  test("deleting a problem keeps its judgements", LIMIT, async (t) => {
    const { put, judge, get, ask, store } = await importing(t, open);
    const { json } = await put(SUM, "?name=sum&time_limit=1");
    const judged = await judge({ language: "python", code: "x", problem: json.id, stop: "never" });
    const gone = await ask({ method: "DELETE", path: `/api/problems/${json.id.toUpperCase()}` });
    assert.deepEqual([gone.status, gone.json], [200, json]);
    assert.equal((await get(`/${json.id}`)).status, 404);
    assert.equal((await ask({ method: "DELETE", path: `/api/problems/${json.id}` })).status, 404);
    assert.equal((await judge({ language: "python", code: "x", problem: json.id })).status, 404);
    while ((await runPending(store)) > 0);
    await judge({ language: "python", code: "x", tests: [{ stdin: "1", expected: "1" }] });
    const listed = async (query: string) =>
      (await ask({ path: `/api/judgements?${query}` })).json.judgements?.map(({ id }: { id: string }) => id);
    assert.deepEqual(await listed(`problem=${json.id.toUpperCase()}&status=completed`), [judged.json.id]);
    assert.deepEqual(await listed(`problem=${judged.json.id}`), []);
    assert.match((await ask({ path: "/api/judgements?problem=sum" })).json.error, /^problem: /);
    const ended = await ask({ path: `/api/judgements/${judged.json.id}` });
    assert.deepEqual([ended.json.status, ended.json.problem], ["completed", { id: json.id, version: 1 }]);
  });
});

test("a problem permits the languages that its package names, and no others", LIMIT, async (t) => {
  const { put, judge } = await importing(t, temporaryStore);
  const { factors } = PACKAGES;
  const head = `${factors["problem.yaml"]}languages: [python3, cobol]\n`;
  const { json } = await put(zipOf(membersOf({ ...factors, "problem.yaml": head }, "few/")));
  const program = { code: "x", problem: json.id };
  assert.equal((await judge({ language: "python", ...program })).status, 202);
  const refused = await judge({ language: "c", ...program });
  assert.deepEqual([refused.status, refused.json.error], [400, "language: the problem permits only python, cobol"]);
});

test("an invalid package is rejected with file and line, and stores nothing", LIMIT, async (t) => {
  const { put, get } = await importing(t, temporaryStore);
  const { factors } = PACKAGES;
  const yaml = factors["problem.yaml"] ?? "";
  const changed = (texts: PackageTexts) => zipOf(membersOf({ ...factors, ...texts }, "x/"));
  const many = Object.fromEntries(
    Array.from({ length: 501 }, (_, at) => [`data/sample/${at}`, `${at}`]).flatMap(([name, data]) => [
      [`${name}.in`, data],
      [`${name}.ans`, data],
    ]),
  );
  const cases: readonly (readonly [Buffer, RegExp, query?: string])[] = [
    [changed({ "problem.yaml": yaml.replace("memory: 128", "memory: 999999") }), /^problem\.yaml:7: limits\.memory: /],
    [
      changed({ "problem.yaml": yaml.replace("time_limit: 2", "time_limit: 9999") }),
      /^problem\.yaml:6: limits\.time_limit: /,
    ],
    [changed({ "problem.yaml": yaml.replace("name: Factors", 'name: "a\\nb"') }), /^problem\.yaml: name: /],
    [changed({ "problem.yaml": "a: [" }), /^problem\.yaml:1: /],
    [changed({ "data/secret/9.in": "1" }), /^data\/secret\/9\.in: /],
    [changed(many as PackageTexts), /^data: has more than 500 tests/],
    [SUM, /has no directory with the name/],
    [SUM, /^the package: has no time limit: give time_limit, or use .* assay problems import, which/, "?name=sum"],
    [SUM, /^the package: a time limit is/, "?name=sum&time_limit=60"],
    [zipOf(membersOf(PACKAGES.sum, "a b/")), /^name: "a b" is not/],
    [Buffer.from("hello"), /^archive: is not a valid ZIP file/],
    [zipOf([]), /^problem\.yaml: is missing/],
  ];
  for (const [body, message, query] of cases) {
    const { status, json } = await put(body, query);
    assert.deepEqual([status, message.test(json.error)], [422, true], JSON.stringify(json));
  }
  for (const [query, name] of [
    ["?name=a%20b", "name"],
    ["?time_limit=-1", "time_limit"],
    ["?time_limit=1e9", "time_limit"],
    ["?name=a&name=b", "name"],
  ]) {
    const { status, json } = await put(FACTORS, query);
    assert.deepEqual([status, json.error.startsWith(`${name}: `)], [400, true], JSON.stringify(json));
  }
  assert.deepEqual((await get("")).json, { problems: [], next: null });
});

test("a connection stays open while its import waits for others, although nothing is sent", LIMIT, async (t) => {
  const { put } = await importing(t, temporaryStore, { holdMs: 500, limits: { inactivityTimeout: 2_500 } });
  // One after the other, because they have one account: together they take longer than the timeout.
  const replies = await Promise.all(Array.from({ length: 10 }, (_, at) => put(FACTORS, `?name=p${at}`)));
  assert.deepEqual(
    replies.map(({ status }) => status),
    Array(10).fill(201),
  );
});

test("a stop ends the imports under way, and those that wait, with an answer", LIMIT, async (t) => {
  const { put, server, ask } = await importing(t, temporaryStore);
  const replies = Array.from({ length: 10 }, (_, at) => put(FACTORS, `?name=p${at}`));
  const first = await Promise.race(replies);
  assert.equal(first.status, 201);
  // The others have not been imported yet, because they have one account.
  assert.equal((await ask({ path: "/api/health" })).status, 200);
  await server.close();
  const stopped = (await Promise.all(replies)).filter(({ status }) => status !== 201);
  assert.ok(stopped.length > 0);
  for (const { status, headers, json } of stopped) {
    assert.deepEqual(
      [status, headers["retry-after"], json.error],
      [503, "5", "the service is shutting down, try again later"],
    );
  }
});

test("hostile archives are rejected without delaying other requests", LIMIT, async (t) => {
  const { put, ask, server } = await importing(t, temporaryStore);
  const large = Buffer.alloc(4_194_304);
  const bomb = deflateRawSync(large, { level: 9 });
  assert.ok(bomb.length < 5_000);
  const test = (at: number): Member[] => [
    { name: `x/data/secret/${at}.in`, data: large, packed: bomb },
    { name: `x/data/secret/${at}.ans`, data: "" },
  ];
  const valid = membersOf(PACKAGES.factors, "x/");
  const aliases = Array.from({ length: 9 }, (_, i) => `a${i}: &a${i} [${`*a${i - 1},`.repeat(i && 9)}x]`).join("\n");
  const cases: readonly (readonly [Buffer, RegExp])[] = [
    [
      zipOf(Array.from({ length: 80 }, (_, at) => test(at)).flat()),
      /a package has at most 20000 files and 268435456 bytes/,
    ],
    [zipOf([...valid, { name: "x/../../y", data: "" }]), /ZIP|plain path/],
    [
      zipOf([...valid, { name: "x/data/secret/1-small/2.in", data: "/etc/passwd", mode: 0o120777 }]),
      /is a link that leads out of the package$/,
    ],
    [zipOf(Array.from({ length: 60_000 }, (_, at) => ({ name: `x/${at}`, data: "" }))), /at most 20000 files/],
    [
      zipOf([...valid.slice(1), { name: "x/problem.yaml", data: "a".repeat(300_000) }]),
      /^problem\.yaml: a YAML file has/,
    ],
    [zipOf([...valid.slice(1), { name: "x/problem.yaml", data: aliases }]), /^problem\.yaml/],
    [
      zipOf([...valid, { name: "x/data/sample/9.in", data: "1".repeat(17_000_000) }]),
      /^data\/sample\/9\.in: .* at most 16777216 bytes$/,
    ],
    [
      zipOf([...valid, { name: "x/data/secret/1-small/2.in", data: "1".repeat(99), stated: 1 }]),
      /^data\/secret\/1-small/,
    ],
  ];
  let slowest = 0;
  let isOver = false;
  const honest = (async () => {
    while (!isOver) {
      const tookMs = stopwatch();
      assert.equal((await ask({ path: "/api/health" })).status, 200);
      slowest = Math.max(slowest, tookMs());
      await sleep(20);
    }
  })();
  for (const [body, message] of cases) {
    const { status, json } = await put(body);
    assert.deepEqual([status, message.test(json.error)], [422, true], JSON.stringify(json));
  }
  isOver = true;
  await honest;
  t.diagnostic(`the slowest other request took ${slowest.toFixed(0)} ms`);
  assert.ok(slowest < 3_000, `${slowest} ms`);
  assert.ok(server);
});

test("a DMOJ package becomes a problem", LIMIT, async (t) => {
  const { put } = await importing(t, temporaryStore);
  const data = zipOf([
    { name: "1.in", data: "1\r\n" },
    { name: "1.out", data: "2" },
  ]);
  const init = "archive: data.zip\ntest_cases:\n- {in: 1.in, out: 1.out, points: 5}\n";
  const archive = zipOf([
    { name: "init.yml", data: init },
    { name: "data.zip", data },
  ]);
  const { status, json, text } = await put(archive, "?name=twice&time_limit=1");
  assert.equal(status, 201, text);
  // With line feeds at the ends of lines.
  assert.deepEqual([json.name, json.tests, json.bytes], ["twice", 1, 4]);
});

test("the import accepts only archives, and no other route accepts them", LIMIT, async (t) => {
  const { put, ask } = await importing(t, temporaryStore);
  const json = { "content-type": "application/json" };
  const wrong = await put(FACTORS, "", { headers: json });
  assert.deepEqual([wrong.status, wrong.json.error], [415, "Content-Type must be application/zip"]);
  assert.equal((await put(FACTORS, "", { headers: { "content-type": "text/plain" } })).status, 415);
  assert.equal((await put(FACTORS, "", { headers: { ...ZIP, "content-encoding": "gzip" } })).status, 415);
  const there = await ask({ method: "POST", path: "/api/submit", body: FACTORS, headers: ZIP });
  assert.deepEqual([there.status, there.json.error], [415, "Content-Type must be application/json"]);
  assert.equal((await put(FACTORS, "", { key: null })).status, 401);
  assert.equal((await ask({ method: "POST", path: "/api/problems" })).status, 415);
  assert.equal((await put(FACTORS, "?nome=x")).status, 400);
});

test("invalid requests that name a problem are rejected", LIMIT, async (t) => {
  const { put, judge, get, store } = await importing(t, temporaryStore);
  const { json } = await put(FACTORS);
  // This stores a problem as if the profile had had higher limits when it was imported.
  let accountId = "";
  for (const { id } of await store.accounts.list()) if (await store.problems.get(json.id, [id])) accountId = id;
  const found = await store.problems.versionFor(json.id, accountId, 1);
  assert.ok(found);
  const tests = found.definition.tests.map((one) => ({ ...one, limits: { cpu_time_secs: 25 } }));
  const version = { accountId, definition: { ...found.definition, tests }, checker: null, contents: [] };
  const versionSeq = await store.judgements.putVersion(version, async () => {});
  const about = { title: "", tests: 5, bytes: 0, cpuSecs: 25, memoryBytes: null };
  const slow = await store.problems.put({ accountId, name: "slow", versionSeq, ...about }, null, null);
  assert.ok(slow.kind === "stored");
  const limits = { checker: { execute: { cpu_time_secs: 25 } } };
  const checked = { ...version, definition: { ...found.definition, limits } };
  const checkedSeq = await store.judgements.putVersion(checked, async () => {});
  const patient = await store.problems.put(
    { accountId, name: "patient", versionSeq: checkedSeq, ...about },
    null,
    null,
  );
  assert.ok(patient.kind === "stored");
  const program = { language: "python", code: "x", problem: json.id };
  const cases: [object, number, RegExp][] = [
    [{ ...program, tests: [{ expected: "" }] }, 400, /^tests: problem is given as well/],
    [{ ...program, checker: "exact" }, 400, /^checker: problem is given as well/],
    [{ ...program, groups: [] }, 400, /^groups: problem is given as well/],
    [{ ...program, problem: "x" }, 400, /^problem: /],
    [{ ...program, problem_version: 0 }, 400, /^problem_version: /],
    [{ language: "python", code: "x", problem_version: 1, tests: [{ expected: "" }] }, 400, /^problem_version: /],
    [{ language: "python", code: "x" }, 400, /^tests: is required unless problem is given/],
    [{ ...program, problem: "00000000-0000-4000-8000-000000000000" }, 404, /^problem not found/],
    [{ ...program, problem: patient.id }, 400, /^problem\.limits\.checker\.cpu_time_secs: at most 20 for cpp, not 25/],
    [{ ...program, problem: slow.id }, 400, /^problem\.limits\.cpu_time_secs: at most 20 for python, not 25/],
  ];
  for (const [body, wanted, message] of cases) {
    const { status, json } = await judge(body);
    assert.deepEqual([status, message.test(json.error)], [wanted, true], JSON.stringify(json));
  }
  for (const id of ["x", "%00", "..%2f"]) assert.equal((await get(`/${id}`)).status, 404, id);
});

test("an import counts against the rate limit by its size; problems of an account are bounded", LIMIT, async (t) => {
  const { put, key, store } = await importing(t, temporaryStore);
  const account = "bounded";
  const few = await key({ account, requestsPerMinute: 4 });
  const content = randomBytes(2_097_152);
  const tests = Array.from({ length: 10 }, (_, at): Member[] => {
    const data = Buffer.concat([content, Buffer.from(`${at}`)]);
    return [
      { name: `x/data/secret/${at}.in`, data, packed: deflateRawSync(data, { level: 0 }) },
      { name: `x/data/secret/${at}.ans`, data: "" },
    ];
  }).flat();
  const large = zipOf([{ name: "x/problem.yaml", data: "name: X\n" }, ...tests]);
  assert.equal((await put(large, "?time_limit=1", { key: few })).status, 201); // 20 MiB: two requests
  assert.equal((await put(FACTORS, "", { key: few })).status, 201);
  assert.equal((await put(large, "?time_limit=2", { key: few })).status, 429);
  const accountId = (await store.accounts.find(account))?.id ?? "";
  const versionSeq = (await store.problems.versionFor((await store.problems.find(accountId, "x")) ?? "", accountId, 1))
    ?.versionSeq;
  assert.ok(versionSeq);
  const about = { title: "", tests: 1, bytes: PROBLEM_BOUNDS.bytes, cpuSecs: 1, memoryBytes: null };
  await store.problems.put({ accountId, name: "huge", versionSeq, ...about }, null, null);
  const full = await put(SUM, "?name=sum&time_limit=1", { key: await key({ account }) });
  assert.deepEqual([full.status, /^an account has at most 500 problems/.test(full.json.error)], [422, true]);
});

test("an import is counted by its unpacked size before it is unpacked", LIMIT, async (t) => {
  const { put, key } = await importing(t, temporaryStore);
  const few = await key({ account: "few", requestsPerMinute: 4 });
  // More than 80 MiB in 80 KB: six requests. Its checksums are wrong, which is a fault where a file is read.
  const large = { data: "", packed: deflateRawSync(Buffer.alloc(4_194_304)), stated: 4_194_304 };
  const tests = Array.from({ length: 20 }, (_, at): Member[] => [
    { name: `x/data/secret/${at}.in`, ...large },
    { name: `x/data/secret/${at}.ans`, data: "" },
  ]).flat();
  const archive = zipOf([{ name: "x/problem.yaml", data: "name: X\n" }, ...tests]);
  assert.equal((await put(archive, "?time_limit=1", { key: few })).status, 429);
  const many = await key({ account: "many", requestsPerMinute: 7 });
  const unpacked = await put(archive, "?time_limit=1", { key: many });
  assert.deepEqual([unpacked.status, /checksum is wrong/.test(unpacked.json.error)], [422, true], unpacked.text);
  assert.equal(unpacked.headers["ratelimit-remaining"], "1");
});

test("an upload that is cut off stores nothing, and the next one is accepted", LIMIT, async (t) => {
  const { put, get, port, caPath, key, logs } = await importing(t, temporaryStore);
  const mine = await key();
  for (const share of [0.1, 0.9]) {
    const raw = Raw.secure(port, caPath);
    raw.write(
      `POST /api/problems HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${mine}\r\nContent-Type: application/zip\r\n`,
    );
    raw.write(`Content-Length: ${FACTORS.length}\r\n\r\n`);
    raw.socket.write(FACTORS.subarray(0, FACTORS.length * share));
    await sleep(100);
    raw.socket.destroy();
  }
  // The whole body, then a disconnect while it is read.
  const raw = Raw.secure(port, caPath);
  raw.write(
    `POST /api/problems HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${mine}\r\nContent-Type: application/zip\r\n`,
  );
  raw.write(`Content-Length: ${FACTORS.length}\r\n\r\n`);
  raw.socket.write(FACTORS);
  await sleep(20);
  raw.socket.destroy();
  await sleep(500);
  assert.ok(!logs.some((line) => line.includes("request failed")));
  assert.deepEqual((await get("", { key: mine })).json.problems, []);
  assert.equal((await put(FACTORS, "", { key: mine })).status, 201);
});
