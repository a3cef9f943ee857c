import assert from "node:assert/strict";
import { test } from "node:test";
import { useProduct } from "../../support/programs/product.ts";

const product = useProduct();

/** Judge0's largest batch. */
const MANY = 20;
const CODE = "print(sum(range(100000)))";

test("a batch of Judge0 takes about as long as the same submissions of our own", { timeout: 200_000 }, async (t) => {
  const { ask } = product();
  const times = { own: [] as number[], judge0: [] as number[] };
  const post = async (path: string, body: unknown, status: number) => {
    const answer = await ask("POST", path, body);
    assert.equal(answer.status, status, JSON.stringify(answer.json));
    return answer.json;
  };
  for (let round = 0; round < 5; round++) {
    // Different sources, so that no round has an advantage.
    const code = `${CODE} # ${round}`;
    const own = performance.now();
    const program = { language: "python", code };
    const made = (await post("/api/submissions/batch", Array(MANY).fill(program), 202)) as { id: string }[];
    for (const { id } of made) await ask("GET", `/api/result/${id}?wait=true`);
    times.own.push(performance.now() - own);
    const theirs = performance.now();
    const submissions = Array(MANY).fill({ language_id: 71, source_code: code, expected_output: "4999950000" });
    const tokens = (await post("/judge0/submissions/batch", { submissions }, 201)) as { token: string }[];
    for (const { token } of tokens) await ask("GET", `/api/result/${token}?wait=true`);
    const list = tokens.map(({ token }) => token).join(",");
    const { json } = await ask("GET", `/judge0/submissions/batch?tokens=${list}&fields=status_id`);
    times.judge0.push(performance.now() - theirs);
    assert.deepEqual(json, { submissions: Array(MANY).fill({ status_id: 3 }) });
  }
  const best = (some: readonly number[]) => Math.min(...some);
  const ratio = best(times.judge0) / best(times.own);
  t.diagnostic(`${MANY} runs: own ${best(times.own).toFixed(0)} ms, Judge0 ${best(times.judge0).toFixed(0)} ms`);
  assert.ok(ratio < 1.5, `${ratio.toFixed(2)} times as long`);
});
