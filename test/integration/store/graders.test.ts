import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { Store } from "../../../src/store/store.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { AC, enqueueJudgement, finish, LEASE_MS, newVersion } from "../../support/store/judgements.ts";
import { addKey, onEachDatabase, sweepLater } from "../../support/store/temporary.ts";

const GRADER = { code: Buffer.from("print('AC 7')"), stdin: Buffer.alloc(0) };
const GROUPS = [
  { name: "a", rule: "sum", depends: [], grader: ["best"] },
  { name: "b", rule: "sum", depends: [] },
] as const;

async function judged(store: Store, accountId: string, key: Parameters<typeof enqueueJudgement>[1]) {
  const version = newVersion(accountId, ["x", "x", "x"], GROUPS, ["a", "a", "b"]);
  const definition = { ...version.definition, grader: { language: "c" } };
  const versionSeq = await store.judgements.putVersion({ ...version, definition, grader: GRADER }, async () => {});
  const id = randomUUID();
  await enqueueJudgement(store, key, versionSeq, 3, "never", { id });
  return id;
}

onEachDatabase((temporaryStore) => {
  /** Ends the tests, and claims what follows. */
  async function setUp(t: Parameters<typeof temporaryStore>[0], verdicts: readonly ("AC" | "WA" | "IE")[]) {
    const { store, clock } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const id = await judged(store, key.accountId, key);
    let claims: Claim[] = [];
    for (;;) {
      claims = await store.submissions.claim("w", LEASE_MS, 5);
      if (claims.length === 0 || claims[0]?.grading) break;
      for (const claim of claims) await finish(store, claim, verdicts[Number(claim.program.stdin)] ?? "AC");
    }
    const read = async () => (await store.judgements.get(id, key.accountId)) ?? assert.fail();
    return { store, clock, key, id, read, grader: claims[0], more: claims.slice(1) };
  }

  test("a run of the grader follows the tests, and its result is that of the judgement", async (t) => {
    const { store, grader, more, read, key } = await setUp(t, ["AC", "WA", "AC"]);
    assert.ok(grader?.grading && more.length === 0);
    assert.deepEqual([grader.submission.language, grader.submission.profile], ["c", "judge"]);
    assert.equal(String(grader.program.code), "print('AC 7')");
    assert.deepEqual(
      [grader.test, grader.grading.states, grader.grading.shares],
      [null, ["AC", "WA", "AC"], [1, 0, 1]],
    );
    assert.deepEqual([(await read()).status, (await read()).verdict], ["running", null]);
    const grading = {
      groups: { a: { verdict: "AC", score: 7 }, b: { verdict: "AC", score: 1 } },
      fault: null,
    } as const;
    const { judgementSeq } = grader.grading;
    assert.ok(await store.submissions.finish(grader.lease, AC, { judgementSeq, checked: null, grading }));
    const judgement = await read();
    assert.deepEqual([judgement.status, judgement.verdict, judgement.score], ["completed", "WA", 8]);
    assert.deepEqual(judgement.grading, { ...grading, submissionId: grader.submission.id });
    assert.equal(judgement.runs.length, 3);
    const submission = await store.submissions.get(grader.submission.id, key.accountId);
    assert.equal(submission?.outcome?.result.verdict, "AC");
    const program = await store.submissionSearch.read(grader.submission.id, [key.accountId], async () => {});
    assert.equal(String(program?.program.code), "");
    assert.deepEqual(await store.submissions.claim("w", LEASE_MS, 5), []);
  });

  test("a fault of the grader, a cancelled run and a lost one end the judgement as IE with the reason", async (t) => {
    const faulty = await setUp(t, []);
    assert.ok(faulty.grader?.grading);
    const { judgementSeq } = faulty.grader.grading;
    const grading = { groups: {}, fault: "it writes nothing" };
    await faulty.store.submissions.finish(faulty.grader.lease, AC, { judgementSeq, checked: null, grading });
    const ended = await faulty.read();
    assert.deepEqual([ended.status, ended.verdict, ended.score], ["error", "IE", 0]);
    assert.equal(ended.grading?.fault, "it writes nothing");
    assert.deepEqual(ended.states, ["AC", "AC", "AC"]);

    const cancelled = await setUp(t, []);
    assert.ok(cancelled.grader);
    await cancelled.store.submissions.cancel(cancelled.grader.submission.id, cancelled.key.accountId);
    assert.equal((await cancelled.read()).verdict, "IE");
    assert.match((await cancelled.read()).grading?.fault ?? "", /cancelled/);

    const lost = await setUp(t, []);
    for (let tries = 0; tries < 3; tries++) {
      await sweepLater(lost.store, lost.clock, LEASE_MS);
      await lost.store.submissions.claim("w", LEASE_MS, 5);
    }
    assert.match((await lost.read()).grading?.fault ?? "", /lost 3 times/);
    assert.equal((await lost.read()).verdict, "IE");
  });

  test("a judgement that is cancelled while it is graded has no run left", async (t) => {
    const { store, grader, id, key, read } = await setUp(t, []);
    assert.ok(grader?.grading);
    assert.equal(await store.judgements.cancel(id, key.accountId), true);
    assert.equal(await store.submissions.renew(grader.lease, LEASE_MS), false);
    const { judgementSeq } = grader.grading;
    const grading = { groups: { a: { verdict: "AC", score: 7 } }, fault: null } as const;
    assert.equal(await store.submissions.finish(grader.lease, AC, { judgementSeq, checked: null, grading }), false);
    assert.deepEqual([(await read()).verdict, (await read()).grading], ["IE", null]);
  });

  test("no grader runs after a failure of the judge", async (t) => {
    const failed = await setUp(t, ["AC", "IE", "AC"]);
    assert.equal(failed.grader, undefined);
    assert.deepEqual([(await failed.read()).verdict, (await failed.read()).grading], ["IE", null]);
  });
});
