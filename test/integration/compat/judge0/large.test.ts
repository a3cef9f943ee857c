import assert from "node:assert/strict";
import { test } from "node:test";
import { buildOutcome } from "../../../../src/verdict/build-outcome.ts";
import { runPending, startHttp } from "../../../support/http/running.ts";
import { SKIPS_LONG } from "../../../support/programs/long.ts";
import { onEachDatabase, temporaryStore } from "../../../support/store/temporary.ts";
import { report } from "../../../support/verdict/reports.ts";

const LIMIT = { timeout: 120_000 };
const MEBIBYTE = 1_048_576;
const BATCH = 20;
const EXPECTED = "x".repeat(150_000);
const large = (fill: string | number) => Buffer.alloc(MEBIBYTE, fill);

onEachDatabase((open) => {
  const skip = open !== temporaryStore && SKIPS_LONG;
  test("a batch and a list have the contents of all submissions, also the largest ones", {
    ...LIMIT,
    skip,
  }, async (t) => {
    const { ask, store } = await startHttp(t, { open });
    const create = async (more: object = {}) => {
      const submissions = Array.from({ length: BATCH }, () => ({ language_id: 71, source_code: "print(1)", ...more }));
      const { json } = await ask({ method: "POST", path: "/judge0/submissions/batch", body: { submissions } });
      return json.map(({ token }: { token: string }) => token).join(",");
    };
    const end = async (stderr: Buffer) => {
      const outcome = () => buildOutcome({ execute: report({ stdout: large("a"), stderr }) });
      for (let done = 0; done < BATCH; ) done += await runPending(store, outcome);
    };
    const tokens = await create({ expected_output: EXPECTED });
    await end(large("b"));
    for (const path of [`/submissions/batch?tokens=${tokens}`, "/submissions?per_page=20"]) {
      const small = await ask({ path: `/judge0${path}${path.includes("?") ? "&" : "?"}fields=status_id,time` });
      assert.deepEqual([small.status, small.json.submissions.length], [200, BATCH], small.text.slice(0, 200));
      assert.ok(small.text.length < 2_000);
      const left = ({ headers }: typeof small) => Number(headers["ratelimit-remaining"]);
      const plain = await ask({ path: `/judge0${path}&fields=stdout,stderr,expected_output,token` });
      assert.equal(plain.status, 200, plain.text.slice(0, 200));
      assert.equal(plain.json.submissions.length, BATCH);
      assert.equal(left(small) - left(plain), Math.ceil((BATCH * (2 * MEBIBYTE + EXPECTED.length)) / (4 * MEBIBYTE)));
      for (const { stdout, stderr, expected_output } of plain.json.submissions)
        assert.ok(stdout === large("a").toString() && stderr === large("b").toString() && expected_output === EXPECTED);
      const encoded = await ask({ path: `/judge0${path}&base64_encoded=true` });
      for (const { stdout } of encoded.json.submissions)
        assert.ok(Buffer.from(stdout, "base64").equals(large("a")) && stdout.endsWith("\n"));
      if (path.includes("per_page")) assert.equal(encoded.json.meta.total_count, BATCH);
    }
    const others = await create();
    await end(large(0xfe));
    const broken = await ask({ path: `/judge0/submissions/batch?tokens=${others}` });
    assert.deepEqual([broken.status, Object.keys(broken.json)], [400, ["error"]]);
    assert.match(broken.json.error, /^some attributes for one or more submissions cannot be converted to UTF-8/);
    assert.equal((await ask({ path: `/judge0/submissions/batch?tokens=${others}&fields=stdout` })).status, 200);
    await create();
    await end(large("b"));
    const many = await ask({ path: "/judge0/submissions?per_page=100" });
    assert.equal(many.status, 400);
    assert.match(many.json.error, /ask for fewer of them or other fields/);
  });
});
