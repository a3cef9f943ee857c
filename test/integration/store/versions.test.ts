import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { addJudgement, enqueueJudgement, finish, LEASE_MS, newVersion } from "../../support/store/judgements.ts";
import { addKey, enqueue, onEachDatabase, temporaryPostgres } from "../../support/store/temporary.ts";

/** More contents than one transaction deletes, and with the inputs more than two store. */
const ANSWERS = Array.from({ length: 101 }, (_, at) => `answer ${at}`);

onEachDatabase((temporaryStore) => {
  async function fixture(t: Parameters<typeof temporaryStore>[0]) {
    const temporary = await temporaryStore(t);
    const { store, clock } = temporary;
    const key = await addKey(store, "a", { concurrency: 20 });
    const later = () => clock.nowMs + 1;
    const purges = {
      purge: async () => (await store.retention.purge(later(), 10)) > 0,
      erase: async () => (await store.retention.erase(key.accountId, later(), 10)) > 0,
    };
    /** Ends a judgement. @returns its inputs and answers as its runs get them. */
    const contentsOf = async (): Promise<string[][]> => {
      const contents: string[][] = [];
      for (;;) {
        const claims = await store.submissions.claim("w", LEASE_MS, 20);
        if (claims.length === 0) return contents;
        for (const claim of claims) {
          const { program, test } = claim as Claim;
          contents[Number(program.stdin)] = [String(program.stdin), ...(test?.answers ?? []).map(String)];
          await finish(store, claim, "AC");
        }
      }
    };
    return { ...temporary, key, purges, contentsOf };
  }
  const whole = ANSWERS.map((answer, at) => [String(at), answer]);

  test("a version with a harness is another one, and its runs get the harness beside the unchanged program", async (t) => {
    const { store, key } = await fixture(t);
    const version = newVersion(key.accountId, ["a"]);
    const harness = { ".py": { files: [{ name: "x.py", data: Buffer.from("x") }], prefix: "p", env: { A: "1" } } };
    const put = (more: object) => store.judgements.putVersion({ ...version, ...more }, async () => {});
    const [without, plain, seq] = [await put({ harness: null }), await put({}), await put({ harness })];
    assert.equal(without, plain);
    assert.notEqual(seq, plain);
    assert.equal(await put({ harness }), seq);
    await enqueueJudgement(store, key, seq, 1, "never");
    const [claim] = await store.submissions.claim("w", LEASE_MS, 1);
    assert.deepEqual(claim?.test?.harness, harness);
    assert.equal(`${claim?.program.code}`, "print(input())");
    assert.equal(claim?.program.options, undefined);
  });

  for (const name of ["purge", "erase"] as const) {
    test(`${name} at any step of storing a version never leaves a judgement without its contents`, {
      timeout: 120_000,
    }, async (t) => {
      const { store, key, purges, contentsOf } = await fixture(t);
      const version = newVersion(key.accountId, ANSWERS);
      let pauses = 0;
      await store.judgements.putVersion(version, async () => {
        pauses++;
      });
      while (await purges[name]());
      assert.ok(pauses > ANSWERS.length + 2, "it is stored in several transactions");
      for (let at = ANSWERS.length; at <= pauses; at++) {
        for (const steps of [1, 9]) {
          let now = 0;
          const seq = await store.judgements.putVersion(version, async () => {
            if (++now === at) for (let step = 0; step < steps; step++) await purges[name]();
          });
          assert.equal((await enqueueJudgement(store, key, seq, ANSWERS.length, "never")).kind, "enqueued");
          assert.deepEqual(await contentsOf(), whole, `${steps} steps at ${at}`);
          while (await purges[name]());
        }
      }
    });
  }

  test("large contents of a version are deleted in several transactions", async (t) => {
    const { store, key, purges } = await fixture(t);
    const large = (at: number) => String(at).repeat(1_500_000);
    const version = newVersion(key.accountId, [1, 2, 3, 4, 5].map(large));
    await store.judgements.putVersion(version, async () => {});
    let steps = 0;
    while (await purges.purge()) steps++;
    // Two of the five contents fit into one transaction; the last one finds that nothing is left.
    assert.ok(steps >= 3, `${steps} steps`);
  });

  test("a version that is partly deleted is stored again, and gets no judgement", async (t) => {
    const { store, key, purges, contentsOf } = await fixture(t);
    const version = newVersion(key.accountId, ANSWERS);
    const first = await store.judgements.putVersion(version, async () => {});
    await purges.purge();
    assert.equal((await enqueueJudgement(store, key, first, ANSWERS.length, "never")).kind, "versionGone");
    const second = await store.judgements.putVersion(version, async () => {});
    assert.notEqual(second, first);
    while (await purges.purge());
    assert.equal((await enqueueJudgement(store, key, first, ANSWERS.length, "never")).kind, "versionGone");
    const third = await store.judgements.putVersion(version, async () => {});
    assert.equal((await enqueueJudgement(store, key, third, ANSWERS.length, "never")).kind, "enqueued");
    while (await purges.purge());
    assert.deepEqual(await contentsOf(), whole);
  });

  test("a program is judged again only while all contents of its tests exist", async (t) => {
    const { store, key, purges, contentsOf } = await fixture(t);
    const { id } = await addJudgement(store, key, { answers: ANSWERS, stop: "never" });
    await contentsOf();
    const again = await store.judgements.readForRejudge(id, key.accountId);
    assert.ok(again);
    // Deletes the judgement and a part of its tests.
    await purges.purge();
    assert.equal(await store.judgements.readForRejudge(id, key.accountId), undefined);
    const result = await enqueueJudgement(store, key, again.versionSeq, again.tests, "never");
    assert.equal(result.kind, "versionGone");
    assert.deepEqual(await store.submissions.claim("w", LEASE_MS, 20), []);
  });
});

test("a claim does not revive a run that ends between its choice and its change", async (t) => {
  const { store, database } = await temporaryPostgres(t);
  assert.ok(database.kind === "postgres");
  const key = await addKey(store, "a", { concurrency: 20 });
  await enqueue(store, key);
  const other = new pg.Client({ connectionString: database.url });
  await other.connect();
  try {
    await other.query("begin");
    const ended = await other.query("update submissions set status = 'error', completed_at = 1, verdict = 'IE'");
    assert.equal(ended.rowCount, 1);
    const claimed = store.submissions.claim("w", LEASE_MS, 1);
    const waits = "select 1 from pg_locks where not granted";
    while ((await other.query(waits)).rowCount === 0);
    await other.query("commit");
    assert.deepEqual(await claimed, []);
    assert.deepEqual((await other.query("select status from submissions")).rows, [{ status: "error" }]);
  } finally {
    await other.end();
  }
});
