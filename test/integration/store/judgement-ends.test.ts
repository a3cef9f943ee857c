import assert from "node:assert/strict";
import { test } from "node:test";
import type { JudgementVerdict, Stop } from "../../../src/domain/judgement.ts";
import { isTerminal } from "../../../src/domain/submission.ts";
import type { Store } from "../../../src/store/store.ts";
import { addJudgement, finish, LEASE_MS } from "../../support/store/judgements.ts";
import { addKey, onEachDatabase, sweepLater } from "../../support/store/temporary.ts";

onEachDatabase((temporaryStore) => {
  test("after any events of its runs, each judgement ends with the verdict of its tests", {
    timeout: 120_000,
  }, async (t) => {
    const { store, clock, another } = await temporaryStore(t);
    const stores = store.manyProcesses ? [store, await another(), await another()] : [store];
    const key = await addKey(store, "a", { concurrency: 30 });
    let seed = 11;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return (seed >> 8) % below;
    };
    const judgements = [];
    for (let number = 0; number < 20; number++) {
      const verdicts = Array.from({ length: 1 + random(12) }, () =>
        random(12) === 0 ? "WA" : random(20) === 0 ? "TLE" : "AC",
      );
      const stop: Stop = random(2) === 0 ? "never" : "first_failure";
      // The answers tell the verdicts to the workers below.
      judgements.push({ verdicts, ...(await addJudgement(store, key, { answers: verdicts, stop })) });
    }
    const work = async (own: Store, worker: string) => {
      for (let idle = 0; idle < 20; ) {
        const claims = await own.submissions.claim(worker, LEASE_MS, 1 + random(4));
        idle = claims.length === 0 ? idle + 1 : 0;
        const ended = claims.map(async (claim) => {
          const fate = random(10);
          if (fate === 0) return await own.submissions.release(claim.lease, true);
          if (fate === 1 && claim.lease.attempt < 2) return await own.submissions.requeue(claim.lease);
          const verdict = String(claim.test?.answers[0]) as JudgementVerdict;
          return await finish(own, claim, verdict);
        });
        await Promise.all(ended);
      }
    };
    await Promise.all(stores.flatMap((one, at) => [work(one, `${at} a`), work(one, `${at} b`)]));
    // Some runs have been claimed by workers that have ended.
    await sweepLater(store, clock, LEASE_MS);
    await work(store, "last");
    for (const { id, verdicts } of judgements) {
      const judgement = await store.judgements.get(id, key.accountId);
      assert.equal(judgement?.verdict, verdicts.find((one) => one !== "AC") ?? "AC", JSON.stringify(judgement));
      const runs = judgement?.runs ?? [];
      assert.equal(new Set(runs.map((run) => run.test)).size, runs.length);
      for (const run of runs) {
        assert.equal(run.verdict, verdicts[run.test]);
        const submission = await store.submissions.get(run.submissionId, key.accountId);
        assert.ok(submission && isTerminal(submission.status));
      }
    }
    assert.equal(await store.submissions.depth(), 0);
  });
});
