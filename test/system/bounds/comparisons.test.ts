import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { useProduct } from "../../support/programs/product.ts";

const SLOTS = 2;
const product = useProduct({ workers: SLOTS });

/** Numbers beyond the range of doubles, which take seconds of CPU time to compare. */
const TOKENS = 160_000;
const ANSWER = "2.1e999 ".repeat(TOKENS);
/** A program with more memory than the next one may start with before all of it is removed. */
const PROGRAM = `x = bytearray(80 << 20)
for i in range(0, len(x), 4096): x[i] = 1
del x
print(input() and "2e999 " * ${TOKENS})`;
const SLOW = {
  language: "python",
  code: PROGRAM,
  checker: { type: "floats", absolute: 1.234567890123456e308, relative: 0.1234567890123456 },
  stop: "never",
};
const TESTS = 12;
/** The most outputs of one account that wait for their comparison without a slot, and those of the programs that run meanwhile. */
const MOST_UNDER_WAY = 4 + SLOTS;

interface Judgement {
  readonly runs: readonly { readonly status: string; readonly verdict: string | null }[];
}

test("a comparison that takes seconds holds no slot, and few of them wait", { timeout: 180_000 }, async (t) => {
  const { ask, runAs } = product();
  const honest = await runAs("a newcomer to comparisons");
  const tests = Array.from({ length: TESTS }, (_, n) => ({ stdin: String(n + 1), expected: [`${ANSWER}1`, ANSWER] }));
  const { status, json } = await ask("POST", "/api/judgements", { ...SLOW, tests });
  assert.equal(status, 202, JSON.stringify(json));
  const path = `/api/judgements/${(json as { id: string }).id}`;
  const runs = async () => ((await ask("GET", path)).json as Judgement).runs;
  const completed = async () => (await runs()).filter((run) => run.status === "completed");
  const underWay = async () =>
    ((await ask("GET", "/api/submissions?status=running&limit=100")).json as { submissions: unknown[] }).submissions
      .length;
  // The first test of a judgement runs alone.
  while ((await underWay()) < SLOTS) await sleep(20);
  const before = await completed();
  const { result } = (await honest("python", "print(1)")) as { result: { verdict: string } };
  assert.equal(result.verdict, "AC");
  assert.equal((await completed()).length, before.length, "the newcomer waited for a comparison");
  let most = 0;
  while ((await completed()).length < 4) {
    most = Math.max(most, await underWay());
    await sleep(100);
  }
  t.diagnostic(`${most} of ${TESTS} were under way`);
  assert.ok(most > SLOTS && most <= MOST_UNDER_WAY, `${most} were under way`);
  assert.deepEqual([...new Set((await completed()).map((run) => run.verdict))], ["AC"]);
  assert.equal((await ask("POST", `${path}/cancel`)).status, 200);
  const { result: after } = (await honest("python", "print(2)")) as { result: { verdict: string } };
  assert.equal(after.verdict, "AC");
});
