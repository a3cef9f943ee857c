import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { FOREIGN_APIS } from "../../../src/compat/apis.ts";
import type { JudgementVerdict, Stop, TestGroup } from "../../../src/domain/judgement.ts";
import { toJudgementRecord } from "../../../src/domain/judgement-record.ts";
import type { DeliveryClaim, DeliveryMessage } from "../../../src/store/deliveries/types.ts";
import type { Claim } from "../../../src/store/submissions/types.ts";
import { bodyOf } from "../../../src/webhooks/body.ts";
import { AC, addJudgement, finish, LEASE_MS, TLE } from "../../support/store/judgements.ts";
import { addKey, enqueue, onEachDatabase, temporaryPostgres } from "../../support/store/temporary.ts";
import { addEndpoint, addProject, deliveryBudget } from "../../support/webhooks/project.ts";

const testOf = ({ program }: Claim) => Number(program.stdin);

onEachDatabase((temporaryStore) => {
  test("the first run is alone, then up to 64 are queued, and the first failure ends it", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a", { concurrency: 90 });
    const { id } = await addJudgement(store, key, { answers: Array(80).fill("x") });
    const claim = (max: number) => store.submissions.claim("w", LEASE_MS, max);
    assert.equal((await store.judgements.get(id, key.accountId))?.status, "pending");
    const [first, ...none] = await claim(90);
    assert.ok(first && none.length === 0);
    assert.deepEqual([testOf(first), first.test?.answers.map(String)], [0, ["x"]]);
    assert.equal(first.program.code.toString(), "print(input())");
    await finish(store, first, "AC");
    const others = await claim(90);
    assert.deepEqual(
      others.map(testOf),
      Array.from({ length: 64 }, (_, at) => at + 1),
    );
    await finish(store, others[3] as Claim, "WA");
    // Runs before the failure can still decide; runs after it are stopped.
    assert.equal(await store.submissions.renew((others[0] as Claim).lease, LEASE_MS), true);
    assert.equal(await store.submissions.renew((others[5] as Claim).lease, LEASE_MS), false);
    assert.equal(await finish(store, others[5] as Claim, "TLE"), false);
    assert.deepEqual(await claim(90), []);
    await finish(store, others[1] as Claim, "AC");
    await finish(store, others[2] as Claim, "TLE");
    assert.equal((await store.judgements.get(id, key.accountId))?.verdict, null);
    await finish(store, others[0] as Claim, "AC");
    const judgement = await store.judgements.get(id, key.accountId);
    assert.deepEqual([judgement?.status, judgement?.verdict, judgement?.score], ["completed", "TLE", 3]);
    assert.deepEqual(
      judgement?.runs.map((run) => [run.test, run.verdict, run.share, run.message]),
      [
        [0, "AC", 1, "ac"],
        [1, "AC", 1, "ac"],
        [2, "AC", 1, "ac"],
        [3, "TLE", 0, TLE.result.errorMessage],
      ],
    );
    assert.deepEqual(judgement?.states.slice(4), Array(76).fill("skipped"));
    assert.deepEqual(await claim(90), []);
  });

  test("long reads of one account do not delay other statements until they have ended", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a", { concurrency: 20 });
    const { id } = await addJudgement(store, key, { answers: ["x"] });
    const { accountId } = key;
    const [accountIds, max] = [[accountId], 10];
    const range = { fromMs: 0, untilMs: 1, bucketMs: 1, accountIds };
    const kinds: Record<string, () => Promise<unknown>> = {
      judgement: () => store.judgements.get(id, accountId),
      judgements: () => store.judgements.search({ accountId, max }),
      "submissions on the dashboard": () => store.submissionSearch.search({ accountIds, max }),
      "count of submissions": () => store.submissionSearch.count({ accountIds, max }),
      "judgements on the dashboard": () => store.judgementSearch.search({ accountIds, max }),
      "count of judgements": () => store.judgementSearch.count({ accountIds, max }),
      "judgement on the dashboard": () => store.judgementSearch.read(id, accountIds, async () => {}),
      history: () => store.history.read(range),
      groups: () => store.history.groups(range, "language", max),
      "history of a key": () => store.history.readOf(range, { keyId: key.keyId }),
      deliveries: () => store.history.deliveries(range),
      "failing endpoints": () => store.history.failing(range, max),
      load: () => store.history.load(range),
      "list of deliveries": () => store.deliveries.list({ accountIds, endpointId: "none", max }),
      "audit trail": () => store.audit.search({ accountIds, max }),
      "submissions through another API": () => store.foreign.list(accountId, "judge0", { skip: 0, most: max }),
      "counts of submissions through another API": () => store.foreign.counts(accountId, "judge0"),
    };
    for (const [kind, read] of Object.entries(kinds)) {
      let ended = 0;
      const reads = Array.from({ length: 60 }, () => read().then(() => ended++));
      await Promise.race(reads);
      await store.submissions.depth();
      // SQLite serves statements in their order. The processes of PostgreSQL do not: on a busy machine, that of depth() can wait.
      const most = temporaryStore === temporaryPostgres ? reads.length : reads.length / 2;
      assert.ok(ended < most, `${ended} of ${reads.length} reads of the kind ${kind} were first`);
      await Promise.all(reads);
    }
  });

  test("the keys of an account share the runs in the queue, and an account without any finds a place", async (t) => {
    const { store } = await temporaryStore(t);
    const claim = async (keys: number) => await store.submissions.claim("w", LEASE_MS, keys);
    const keys = await Promise.all(
      Array.from({ length: 8 }, (_, at) => addKey(store, `a${at}`, { account: "class", concurrency: 1 })),
    );
    const all = keys.map((key) => addJudgement(store, key, { answers: Array(100).fill("x"), stop: "never" }));
    await Promise.all(all);
    for (let round = 0; round < 12; round++) for (const one of await claim(8)) await finish(store, one, "AC");
    const depth = await store.submissions.depth();
    // The first key finds no other one with pending runs and gets 64, the next ones a half, a third and so on: 174 in all.
    assert.ok(depth >= 8 && depth <= 174 + 8, `${depth}`);
    const full = { maxPending: depth };
    const [first] = keys;
    assert.equal((await enqueue(store, first ?? assert.fail(), full)).kind, "full");
    const other = await addKey(store, "another");
    assert.equal((await enqueue(store, other, full)).kind, "enqueued");
    assert.equal((await enqueue(store, other, full)).kind, "full");
  });

  test("tests that passed before the failure of an earlier one earn nothing", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a", { concurrency: 20 });
    const groups: TestGroup[] = [
      { name: "a", rule: "sum", depends: [] },
      { name: "b", rule: "sum", depends: ["a"] },
    ];
    const verdicts: readonly JudgementVerdict[] = ["AC", "WA", "AC", "AC", "AC"];
    const judged = async (stop: Stop, which: { readonly groups?: readonly TestGroup[] }, isSlow: boolean) => {
      const of = which.groups ? ["a", "a", "a", "b", "b"] : [];
      const { id } = await addJudgement(store, key, { answers: Array(5).fill("x"), stop, of, ...which });
      for (;;) {
        const claims = await store.submissions.claim("w", LEASE_MS, 9);
        if (claims.length === 0) break;
        // The failing test ends at last, or at first.
        const wrong = ({ program }: Claim) => (program.stdin.toString() === "1" ? 1 : 0);
        const ordered = claims.sort((one, other) => (isSlow ? 1 : -1) * (wrong(one) - wrong(other)));
        for (const claim of ordered) await finish(store, claim, verdicts[testOf(claim)] as JudgementVerdict);
      }
      const judgement = await store.judgements.get(id, key.accountId);
      assert.ok(judgement);
      const record = toJudgementRecord(judgement);
      const runs = record.runs.map(({ status, verdict, points, submission_id: of }) =>
        [status === "completed" ? verdict : status, points, of !== null].join(" "),
      );
      const ended = record.groups.map(({ score, passed }) => [score, passed]);
      return { verdict: record.verdict, score: record.score, tests: record.tests, groups: ended, runs };
    };
    const [passed, failed, skipped] = ["AC 1 true", "WA 0 true", "skipped 0 false"];
    const tests = { total: 5, passed: 1, ended: 2 };
    const first = { verdict: "WA", score: 1, tests, runs: [passed, failed, skipped, skipped, skipped] };
    for (const isSlow of [false, true]) {
      assert.deepEqual(await judged("first_failure", {}, isSlow), { ...first, groups: [[1, false]] });
      assert.deepEqual(await judged("group", {}, isSlow), { ...first, groups: [[1, false]] });
      for (const stop of ["first_failure", "group"] as const)
        assert.deepEqual(await judged(stop, { groups }, isSlow), {
          ...first,
          groups: [
            [1, false],
            [0, false],
          ],
        });
    }
  });

  test("while a key has many pending submissions, one run of each judgement is queued", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a", { concurrency: 20 });
    await addJudgement(store, key, { answers: Array(20).fill("x") });
    const [first] = await store.submissions.claim("w", LEASE_MS, 1);
    for (let number = 0; number < 70; number++) await enqueue(store, key);
    await finish(store, first as Claim, "AC");
    assert.equal(await store.submissions.depth(), 71);
  });

  test("a program that does not compile runs once", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const { id } = await addJudgement(store, key, { answers: ["x", "x"], stop: "never" });
    const [first] = await store.submissions.claim("w", LEASE_MS, 9);
    await finish(store, first as Claim, "CE");
    const judgement = await store.judgements.get(id, key.accountId);
    assert.deepEqual([judgement?.verdict, judgement?.states, judgement?.runs.length], ["CE", ["CE", "skipped"], 1]);
  });

  test("points are those of the groups, and an internal error of any run is the judgement's", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a", { concurrency: 20 });
    const groups: TestGroup[] = [
      { name: "a", rule: "sum", depends: [] },
      { name: "b", rule: "min", depends: ["a"] },
    ];
    const answers = ["x", "x", "x", "x"];
    const run = async (stop: Stop, verdicts: readonly JudgementVerdict[]) => {
      const { id } = await addJudgement(store, key, { answers, stop, groups, of: ["a", "a", "b", "b"] });
      for (;;) {
        const claims = await store.submissions.claim("w", LEASE_MS, 9);
        if (claims.length === 0) break;
        for (const claim of claims) await finish(store, claim, verdicts[testOf(claim)] as JudgementVerdict, 0.5);
      }
      const judgement = await store.judgements.get(id, key.accountId);
      return [judgement?.status, judgement?.verdict, judgement?.score];
    };
    assert.deepEqual(await run("group", ["AC", "AC", "AC", "AC"]), ["completed", "AC", 2]);
    assert.deepEqual(await run("group", ["AC", "AC", "AC", "WA"]), ["completed", "WA", 1]);
    assert.deepEqual(await run("never", ["AC", "TLE", "AC", "AC"]), ["completed", "TLE", 0.5]);
    assert.deepEqual(await run("never", ["AC", "AC", "IE", "AC"]), ["error", "IE", 1]);
    assert.deepEqual(await run("first_failure", ["WA", "IE", "IE", "IE"]), ["completed", "WA", 0]);
  });

  test("a group of a package ends at its first failure, and its checker can give the points of the group", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a", { concurrency: 20 });
    const groups: TestGroup[] = [
      { name: "a", rule: "sum", depends: [], breaks: true },
      { name: "b", rule: "min", depends: [] },
    ];
    const of = ["a", "a", "a", "b", "b"];
    const { id } = await addJudgement(store, key, { answers: Array(5).fill("x"), stop: "never", groups, of });
    const claim = async () => await store.submissions.claim("w", LEASE_MS, 9);
    const [first] = await claim();
    await finish(store, first as Claim, "AC");
    const others = await claim();
    assert.deepEqual(
      [first, ...others].map((one) => one?.test?.points),
      [1, 1, 1, 2, 2],
    );
    const [second, third, ...last] = others as [Claim, Claim, Claim, Claim];
    await finish(store, third, "AC"); // it ends before the failure does
    await finish(store, second, "WA");
    for (const one of last) await finish(store, one, "AC", one === last[0] ? 0.5 : 1);
    const judgement = await store.judgements.get(id, key.accountId);
    assert.deepEqual([judgement?.verdict, judgement?.score], ["WA", 2]);
  });

  test("the same tests are stored once for an account", async (t) => {
    const { store } = await temporaryStore(t);
    const [key, other] = [await addKey(store, "a"), await addKey(store, "b")];
    const put = (accountId: string, answers: readonly string[]) =>
      store.judgements.putVersion(
        {
          accountId,
          definition: { checker: { type: "lines" }, groups: [], tests: [] },
          checker: null,
          contents: answers.map((answer) => [Buffer.from("in"), Buffer.from(answer)]),
        },
        async () => {},
      );
    const first = await put(key.accountId, ["1", "2"]);
    assert.equal(await put(key.accountId, ["1", "2"]), first);
    assert.notEqual(await put(key.accountId, ["1", "3"]), first);
    assert.notEqual(await put(other.accountId, ["1", "2"]), first);
    const seqs = await Promise.all([1, 2, 3, 4].map(() => put(other.accountId, ["5", "6", "7"])));
    assert.equal(new Set(seqs).size, 1);
  });

  test("cancelling ends the judgement and its runs; a second judgement of its program runs again", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const { id } = await addJudgement(store, key, { answers: ["x", "x", "x"], idempotencyKey: randomUUID() });
    const [first] = await store.submissions.claim("w", LEASE_MS, 9);
    await finish(store, first as Claim, "AC");
    const [second] = await store.submissions.claim("w", LEASE_MS, 1);
    assert.equal(await store.judgements.cancel(id, (await addKey(store, "b")).accountId), false);
    assert.equal(await store.judgements.cancel(id, key.accountId), true);
    assert.equal(await store.judgements.cancel(id, key.accountId), false);
    assert.equal(await finish(store, second as Claim, "AC"), false);
    assert.deepEqual(await store.submissions.claim("w", LEASE_MS, 9), []);
    const judgement = await store.judgements.get(id, key.accountId);
    assert.deepEqual([judgement?.status, judgement?.verdict], ["error", "IE"]);
    assert.deepEqual(judgement?.states, ["AC", "skipped", "skipped"]);
    const again = await store.judgements.readForRejudge(id, key.accountId);
    assert.deepEqual([again?.program.code.toString(), again?.tests], ["print(input())", 3]);
    assert.equal(await store.judgements.readForRejudge(id, "other"), undefined);
  });

  test("dropping pending work also ends judgements with only running runs, but no later ones", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const [running, pending] = [
      await addJudgement(store, key, { answers: ["x", "x"] }),
      await addJudgement(store, key, { answers: ["y", "y"] }),
    ];
    const [claim] = await store.submissions.claim("w", LEASE_MS, 1);
    const whose = { accountId: key.accountId };
    const last = await store.queue.beginDrop(whose, "test");
    const later = await addJudgement(store, key, { answers: ["z"] });
    while ((await store.queue.drop(whose, last, 1)) > 0);
    for (const { id } of [running, pending])
      assert.equal((await store.judgements.get(id, key.accountId))?.verdict, "IE");
    assert.equal(await finish(store, claim as Claim, "AC"), false);
    assert.equal((await store.judgements.get(later.id, key.accountId))?.status, "pending");
    // Nothing is pending any more.
    await store.submissions.claim("w", LEASE_MS, 1);
    const all = await store.queue.beginDrop(whose, "test");
    assert.equal(await store.queue.drop(whose, all, 9), 1);
    assert.equal((await store.judgements.get(later.id, key.accountId))?.verdict, "IE");
  });

  test("a message of any length and with any character is stored", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const { id } = await addJudgement(store, key, { answers: ["x"] });
    const [claim] = await store.submissions.claim("w", LEASE_MS, 1);
    const { lease, test: run } = claim as Claim;
    const message = `\0${"\u{1f600}".repeat(100_000)}`;
    const judged = { judgementSeq: run?.judgementSeq ?? 0, checked: { verdict: "WA", share: 0, message } as const };
    assert.equal(await store.submissions.finish(lease, AC, judged), true);
    const stored = (await store.judgements.get(id, key.accountId))?.runs[0]?.message ?? "";
    assert.ok(stored.length <= 501 && stored.startsWith("\uFFFD"), stored.slice(0, 10));
  });

  test("a repeated request finds its judgement", async (t) => {
    const { store } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const request = { answers: ["x", "x"], idempotencyKey: randomUUID() };
    const ids = await Promise.all([1, 2, 3].map(() => addJudgement(store, key, request)));
    assert.equal(new Set(ids.map(({ id }) => id)).size, 1);
    assert.equal(await store.submissions.depth(), 1);
    // The key still finds the judgement after its end, which removes runs that have not started.
    const { id } = ids[0] as { id: string };
    await store.judgements.cancel(id, key.accountId);
    assert.equal((await addJudgement(store, key, request)).id, id);
  });

  test("judgements are deleted as a whole, and their tests when no judgement is left", async (t) => {
    const { store, clock } = await temporaryStore(t);
    const key = await addKey(store, "a");
    const run = async () => {
      const { id } = await addJudgement(store, key, { answers: ["x", "y", ...Array(120).fill("z")] });
      for (;;) {
        const claims = await store.submissions.claim("w", LEASE_MS, 9);
        if (claims.length === 0) return id;
        for (const claim of claims) await finish(store, claim, "AC");
      }
    };
    const first = await run();
    clock.nowMs += 1_000;
    const second = await run();
    const purge = async (beforeMs: number) => {
      while ((await store.retention.purge(beforeMs, 4)) >= 4);
    };
    const run1 = (await store.judgements.get(first, key.accountId))?.runs[0]?.submissionId ?? "";
    await purge(clock.nowMs - 1);
    assert.equal(await store.judgements.get(first, key.accountId), undefined);
    assert.equal(await store.submissions.get(run1, key.accountId), undefined);
    assert.equal((await store.judgements.get(second, key.accountId))?.runs.length, 122);
    await purge(clock.nowMs + 1);
    assert.equal(await store.judgements.get(second, key.accountId), undefined);
    assert.equal(await store.retention.erase(key.accountId, clock.nowMs + 1, 100), 0);
    const lines: string[] = [];
    await store.backup(async (line) => void lines.push(line));
    const rows = lines.slice(1).map((line) => JSON.parse(line));
    const tables = rows.flatMap((row, at) => (row.table && Array.isArray(rows[at + 1]) ? [row.table] : []));
    for (const table of ["contents", "versions", "version_contents", "judgements", "runs", "submissions"])
      assert.ok(!tables.includes(table), `${table} has rows`);
  });

  test("the project's endpoints get one message for the judgement, and none for its runs", async (t) => {
    const { store } = await temporaryStore(t);
    const project = await addProject(store);
    await addEndpoint(store, project);
    const { id } = await addJudgement(store, { ...project.key, projectId: project.id }, { answers: ["x", "x"] });
    for (let claims = 2; claims > 0; claims--) {
      const [claim] = await store.submissions.claim("w", LEASE_MS, 9);
      await finish(store, claim as Claim, "AC");
    }
    const claimed = await store.deliveries.claimDue({ ...deliveryBudget(9), leaseMs: LEASE_MS });
    assert.deepEqual(
      claimed.map((claim) => [claim.messageId, claim.kind]),
      [[id, "result"]],
    );
    const [claim] = claimed as [DeliveryClaim];
    const body = Buffer.concat(
      await bodyOf((await store.deliveries.message(claim)) as DeliveryMessage, "owner", FOREIGN_APIS),
    );
    const { type, timestamp, data } = JSON.parse(body.toString());
    assert.deepEqual(
      [type, timestamp, data.id, data.verdict],
      ["judgement.completed", data.timestamps.completed_at, id, "AC"],
    );
    assert.ok(body.length <= claim.bodyBytes);
  });
});
