import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type TestContext, test } from "node:test";
import { openStore, restoreStore } from "../../../src/store/open.ts";
import { MAX_PROBLEM_VERSIONS } from "../../../src/store/problems/problems.ts";
import type { NewProblem } from "../../../src/store/problems/types.ts";
import { enqueueJudgement, finish, LEASE_MS, newVersion } from "../../support/store/judgements.ts";
import { addKey, emptyDatabase, onEachDatabase } from "../../support/store/temporary.ts";

const NO_PAUSE = async () => {};

onEachDatabase((temporaryStore) => {
  async function fixture(t: TestContext) {
    const { store, clock, database } = await temporaryStore(t);
    const [key, other] = [await addKey(store, "a"), await addKey(store, "b")];
    /** Imports a problem with these answers. */
    const put = async (name: string, answers: readonly string[], more: Partial<NewProblem> = {}, bounds = BOUNDS) => {
      const accountId = more.accountId ?? key.accountId;
      const versionSeq = await store.judgements.putVersion(newVersion(accountId, answers), NO_PAUSE);
      const limits = { cpuSecs: 2, memoryBytes: null };
      const about = { title: `Title of ${name}`, tests: answers.length, bytes: 100, ...limits };
      return await store.problems.put({ accountId, name, versionSeq, ...about, ...more }, bounds, "test");
    };
    const purgeAll = async () => {
      clock.nowMs += 1_000;
      while ((await store.retention.purge(clock.nowMs, 10)) > 0);
    };
    return { store, clock, database, key, other, put, purgeAll };
  }
  const BOUNDS = { problems: 3, bytes: 1_000 };

  test("an import adds a version, and the same content again changes nothing", async (t) => {
    const { store, key, put } = await fixture(t);
    const first = await put("sum", ["1"]);
    assert.ok(first.kind === "stored");
    assert.deepEqual([first.version, first.isNew], [1, true]);
    assert.deepEqual(await put("sum", ["1"]), { ...first, isNew: false });
    assert.deepEqual(await put("sum", ["1", "2"]), { ...first, version: 2 });
    assert.deepEqual(await put("sum", ["1"]), { ...first, version: 3 });
    const problem = await store.problems.get(first.id, [key.accountId]);
    assert.deepEqual([problem?.name, problem?.title, problem?.current.number], ["sum", "Title of sum", 3]);
    assert.deepEqual(
      problem?.versions.map(({ number, tests, cpuSecs }) => [number, tests, cpuSecs]),
      [
        [3, 1, 2],
        [2, 2, 2],
        [1, 1, 2],
      ],
    );
    const current = await store.problems.versionFor(first.id, key.accountId, undefined);
    const second = await store.problems.versionFor(first.id, key.accountId, 2);
    assert.deepEqual([current?.number, current?.definition.tests.length], [3, 1]);
    assert.deepEqual([second?.number, second?.definition.tests.length], [2, 2]);
    assert.equal(await store.problems.versionFor(first.id, key.accountId, 4), undefined);
    const audit = await store.audit.list({ accountIds: [key.accountId], max: 10 });
    assert.deepEqual(
      audit.filter(({ action }) => action === "problem.import").map(({ detail }) => detail),
      [
        { name: "sum", version: 3 },
        { name: "sum", version: 2 },
        { name: "sum", version: 1 },
      ],
    );
  });

  test("concurrent imports of one name are versions of one problem", async (t) => {
    const { store, key, put } = await fixture(t);
    const puts = await Promise.all(["1", "2", "3", "4"].map((answer) => put("sum", [answer])));
    assert.deepEqual(puts.map((one) => one.kind === "stored" && one.version).sort(), [1, 2, 3, 4]);
    assert.equal((await store.problems.list([key.accountId], 10)).length, 1);
  });

  test("another account sees and changes nothing", async (t) => {
    const { store, key, other, put } = await fixture(t);
    const first = await put("sum", ["1"]);
    assert.ok(first.kind === "stored");
    assert.equal(await store.problems.get(first.id, [other.accountId]), undefined);
    assert.equal(await store.problems.versionFor(first.id, other.accountId, undefined), undefined);
    assert.equal(await store.problems.find(other.accountId, "sum"), undefined);
    assert.equal(await store.problems.delete(first.id, other.accountId, "test"), false);
    assert.deepEqual(await store.problems.list([other.accountId], 10), []);
    const second = await put("sum", ["1"], { accountId: other.accountId });
    assert.ok(second.kind === "stored" && second.isNew && second.id !== first.id);
    assert.equal(await store.problems.find(key.accountId, "sum"), first.id);
  });

  test("lists have pages, newest first", async (t) => {
    const { store, key, put } = await fixture(t);
    for (const name of ["a", "b", "c"]) await put(name, [name]);
    const [c, b] = await store.problems.list([key.accountId], 2);
    assert.deepEqual([c?.name, b?.name], ["c", "b"]);
    assert.deepEqual(
      (await store.problems.list([key.accountId], 2, b?.seq)).map(({ name }) => name),
      ["a"],
    );
  });

  test("an account has a bound of problems and of bytes, but not the operator", async (t) => {
    const { store, key, put } = await fixture(t);
    for (const name of ["a", "b", "c"]) assert.equal((await put(name, [name])).kind, "stored");
    assert.deepEqual(await put("d", ["d"]), { kind: "full", bound: "problems" });
    assert.deepEqual(await put("a", ["a2"], { bytes: 701 }), { kind: "full", bound: "bytes" });
    assert.equal((await put("a", ["a2"], { bytes: 700 })).kind, "stored");
    assert.deepEqual(await put("a", ["a3"], { bytes: 1 }), { kind: "full", bound: "bytes" });
    // A content that is stored already is not counted again.
    assert.equal((await put("a", ["a2"], { bytes: 700 })).kind, "stored");
    const versionSeq = await store.judgements.putVersion(newVersion(key.accountId, ["d"]), NO_PAUSE);
    const about = { title: "", tests: 1, bytes: 5_000, cpuSecs: null, memoryBytes: null };
    const problem = { accountId: key.accountId, name: "d", versionSeq, ...about };
    assert.equal((await store.problems.put(problem, null, "test")).kind, "stored");
  });

  test("old versions are released, and a judgement keeps its version", async (t) => {
    const { store, key, put, purgeAll } = await fixture(t);
    const first = await put("sum", ["0"], { bytes: 1 });
    assert.ok(first.kind === "stored");
    const version = await store.problems.versionFor(first.id, key.accountId, 1);
    assert.ok(version);
    const problem = { id: first.id, version: 1 };
    const id = "5dba6b4c-0a3f-4f4d-8a4c-1c3a54a1f6a5";
    await enqueueJudgement(store, key, version.versionSeq, 1, "never", { id, problem });
    for (let at = 1; at <= MAX_PROBLEM_VERSIONS; at++) await put("sum", [String(at)], { bytes: 1 });
    const kept = await store.problems.get(first.id, [key.accountId]);
    assert.deepEqual([kept?.versions.length, kept?.versions.at(-1)?.number], [MAX_PROBLEM_VERSIONS, 2]);
    assert.equal(await store.problems.versionFor(first.id, key.accountId, 1), undefined);
    await purgeAll();
    const [claim] = await store.submissions.claim("w", LEASE_MS, 1);
    assert.ok(claim);
    assert.deepEqual([String(claim.program.stdin), claim.test?.answers.map(String)], ["0", ["0"]]);
    await finish(store, claim, "AC");
    assert.deepEqual((await store.judgements.get(id, key.accountId))?.problem, problem);
    const again = await store.judgements.readForRejudge(id, key.accountId);
    assert.deepEqual([again?.problem, again?.versionSeq], [problem, version.versionSeq]);
  });

  test("the judgements of a problem are found newest first, in pages, by its account only", async (t) => {
    const { store, key, other, put } = await fixture(t);
    const first = await put("sum", ["1"]);
    const second = await put("product", ["2"]);
    assert.ok(first.kind === "stored" && second.kind === "stored");
    const add = async (problemId: string | null) => {
      const version = await store.problems.versionFor(problemId ?? first.id, key.accountId, 1);
      assert.ok(version);
      const id = randomUUID();
      const problem = problemId === null ? null : { id: problemId, version: 1 };
      await enqueueJudgement(store, key, version.versionSeq, 1, "never", { id, problem });
      return id;
    };
    const mine = [await add(first.id), await add(first.id), await add(first.id)];
    const alone = await add(second.id);
    await add(null);
    const find = async (accountId: string, problemId: string, max: number, before?: number) => {
      const { found, next } = await store.judgements.search({ accountId, problemId, max, before });
      return { ids: found.map(({ id }) => id), next };
    };
    const look = async (accountIds: readonly string[] | null, problemId: string, max = 9, before?: number) => {
      const { found, next } = await store.judgementSearch.search({ accountIds, problemId, max, before });
      return { ids: found.map(({ id }) => id), next };
    };
    for (const search of [
      (max: number, before?: number) => find(key.accountId, first.id, max, before),
      (max: number, before?: number) => look([key.accountId], first.id, max, before),
      (max: number, before?: number) => look(null, first.id, max, before),
    ]) {
      const page = await search(2);
      assert.deepEqual(page.ids, [mine[2], mine[1]]);
      assert.ok(page.next);
      assert.deepEqual(await search(2, page.next), { ids: [mine[0]], next: null });
    }
    assert.deepEqual((await find(key.accountId, second.id, 9)).ids, [alone]);
    assert.deepEqual(await find(other.accountId, first.id, 9), { ids: [], next: null });
    assert.deepEqual(await look([other.accountId], first.id), { ids: [], next: null });
    const both = await look([other.accountId, key.accountId], first.id);
    assert.deepEqual(both.ids, mine.toReversed());
    const named = async () =>
      (await store.judgementSearch.search({ accountIds: null, max: 9 })).found.map((one) => one.problem);
    const [none, product, sum] = await named();
    assert.deepEqual(
      [none, product, sum],
      [null, { id: second.id, name: "product", version: 1 }, { id: first.id, name: "sum", version: 1 }],
    );
    assert.equal(await store.problems.delete(second.id, key.accountId, "test"), true);
    assert.deepEqual((await find(key.accountId, second.id, 9)).ids, [alone]);
    assert.deepEqual((await look(null, second.id)).ids, [alone]);
    assert.equal((await named())[1]?.name, null);
  });

  test("a purge keeps the tests of a problem, and deletes them after the problem", async (t) => {
    const { store, key, put, purgeAll } = await fixture(t);
    const first = await put("sum", ["1", "2"]);
    assert.ok(first.kind === "stored");
    await purgeAll();
    const version = await store.problems.versionFor(first.id, key.accountId, undefined);
    assert.ok(version);
    assert.equal((await enqueueJudgement(store, key, version.versionSeq, 2, "never")).kind, "enqueued");
    for (const answer of ["1", "2"]) {
      const [claim] = await store.submissions.claim("w", LEASE_MS, 1);
      assert.ok(claim);
      assert.deepEqual(claim.test?.answers.map(String), [answer]);
      await finish(store, claim, "AC");
    }
    assert.equal(await store.problems.delete(first.id, key.accountId, "test"), true);
    assert.equal(await store.problems.delete(first.id, key.accountId, "test"), false);
    await purgeAll();
    assert.equal((await enqueueJudgement(store, key, version.versionSeq, 2, "never")).kind, "versionGone");
    const lines: string[] = [];
    await store.backup(async (line) => void lines.push(line));
    assert.ok(!lines.some((line) => line.startsWith('{"table":"contents"')));
  });

  test("erasing an account deletes its problems and their tests, and no other ones", async (t) => {
    const { store, clock, key, other, put } = await fixture(t);
    await put("sum", ["1"]);
    await put("sum", ["1"], { accountId: other.accountId });
    clock.nowMs += 1_000;
    while ((await store.retention.erase(key.accountId, clock.nowMs, 10)) > 0);
    assert.deepEqual(await store.problems.list([key.accountId], 10), []);
    const [left] = await store.problems.list([other.accountId], 10);
    assert.ok(left);
    const lines: string[] = [];
    await store.backup(async (line) => void lines.push(line));
    const rowsOf = (table: string) => {
      const from = lines.findIndex((line) => line.startsWith(`{"table":"${table}"`));
      return lines.slice(
        from + 1,
        lines.findIndex((line, at) => at > from && !line.startsWith("[")),
      ).length;
    };
    assert.deepEqual(["contents", "versions", "problems", "problem_versions"].map(rowsOf), [2, 1, 1, 1]);
  });

  test("a restored backup has the problems with their tests", async (t) => {
    const { store, key, put } = await fixture(t);
    const first = await put("sum", ["1"]);
    assert.ok(first.kind === "stored");
    const lines: string[] = [];
    await store.backup(async (line) => void lines.push(line));
    for (const kind of ["sqlite", "postgres"] as const) {
      const database = await emptyDatabase(t, kind);
      async function* stream() {
        yield* lines;
      }
      await restoreStore({ database }, stream());
      const restored = await openStore({ database });
      try {
        assert.deepEqual(
          await restored.problems.get(first.id, [key.accountId]),
          await store.problems.get(first.id, [key.accountId]),
        );
        const version = await restored.problems.versionFor(first.id, key.accountId, undefined);
        assert.ok(version);
        assert.equal((await enqueueJudgement(restored, key, version.versionSeq, 1, "never")).kind, "enqueued");
        const [claim] = await restored.submissions.claim("w", LEASE_MS, 1);
        assert.deepEqual(claim?.test?.answers.map(String), ["1"]);
      } finally {
        await restored.close();
      }
    }
  });
});
