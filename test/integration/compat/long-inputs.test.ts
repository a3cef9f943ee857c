import assert from "node:assert/strict";
import { test } from "node:test";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import { runPending, startHttp } from "../../support/http/running.ts";
import { onEachDatabase, temporaryStore } from "../../support/store/temporary.ts";
import { report } from "../../support/verdict/reports.ts";

const LIMIT = { timeout: 120_000 };
const MEBIBYTE = 1_048_576;
const LONG = 4 * MEBIBYTE;
const PYTHON = { language_id: 71, source_code: "print(1)" };

const remaining = ({ headers }: { readonly headers: object }) =>
  Number((headers as Record<string, string>)["ratelimit-remaining"]);

onEachDatabase((open) => {
  test("a client of Judge0 can send a source of 1 MiB, and an input and an answer of 4 MiB", LIMIT, async (t) => {
    const { ask, store } = await startHttp(t, { open });
    const source = "#".repeat(MEBIBYTE);
    const [stdin, expected] = ["\u0001".repeat(LONG), "é".repeat(LONG / 2)];
    const body = { ...PYTHON, source_code: source, stdin, expected_output: expected };
    const before = await ask({ path: "/judge0/about" });
    const made = await ask({ method: "POST", path: "/judge0/submissions", body });
    assert.equal(made.status, 201, made.text.slice(0, 200));
    // 9 MiB are three times 4 MiB at most.
    assert.equal(remaining(before) - remaining(made), 3);
    let ran: object = {};
    await runPending(store, (claim) => {
      const { code, stdin: input, options } = claim.program;
      const [file] = options?.files ?? [];
      ran = { code: code.length, entry: options?.entry, file: file?.data.toString() === source };
      assert.equal(input.toString(), stdin);
      return buildOutcome({ execute: report({ stdout: Buffer.from("é") }) });
    });
    assert.deepEqual(ran, { code: 0, entry: "main.py", file: true });
    const { json } = await ask({ path: `/judge0/submissions/${made.json.token}?fields=*` });
    assert.ok(json.source_code === source && json.stdin === stdin && json.expected_output === expected);
    assert.equal(json.status_id, 4);
  });

  test("an execution of Piston takes an input of 4 MiB", LIMIT, async (t) => {
    const { ask, store } = await startHttp(t, { open });
    const stdin = "\n".repeat(LONG);
    const body = { language: "python", version: "*", files: [{ content: "print(1)" }], stdin };
    const asked = ask({ method: "POST", path: "/piston/api/v2/execute", body });
    let size = 0;
    while (size === 0)
      await runPending(store, ({ program }) => {
        size = program.stdin.length;
        return buildOutcome({ execute: report({ stdout: Buffer.from("1\n") }) });
      });
    assert.equal(size, LONG);
    assert.equal((await asked).json.run.stdout, "1\n");
  });
});

test("a batch of Judge0 has at most 64 MiB, and each submission of it counts by its size", LIMIT, async (t) => {
  const { ask } = await startHttp(t, { open: temporaryStore });
  const batch = (amount: number, stdin: string) =>
    ask({
      ...{ method: "POST", path: "/judge0/submissions/batch" },
      body: { submissions: Array(amount).fill({ ...PYTHON, stdin, expected_output: stdin }) },
    });
  const before = await ask({ path: "/judge0/about" });
  const made = await batch(6, "x".repeat(LONG));
  assert.equal(made.status, 201, made.text.slice(0, 200));
  // The program adds some bytes to twice 4 MiB.
  assert.equal(remaining(before) - remaining(made), 6 * 3);
  assert.equal((await batch(20, "x".repeat(LONG / 2))).status, 413);
});

test("the memory of a large body is released when its request is refused", LIMIT, async (t) => {
  const { ask } = await startHttp(t, { open: temporaryStore });
  const padding = "x".repeat(20 * MEBIBYTE);
  // Together, the bodies of a path are larger than the memory for all large bodies.
  for (let times = 0; times < 7; times++) {
    const one = await ask({ method: "POST", path: "/judge0/submissions", body: { padding } });
    assert.deepEqual([one.status, Object.keys(one.json)], [422, ["language_id"]]);
    const none = await ask({ method: "POST", path: "/judge0/submissions/batch", body: { padding } });
    assert.equal(none.status, 400);
    const run = await ask({ method: "POST", path: "/piston/api/v2/execute", body: { padding } });
    assert.equal(run.status, 400);
  }
});

test("a form has at most 4 MiB", LIMIT, async (t) => {
  const { ask } = await startHttp(t, { open: temporaryStore });
  const send = (bytes: number) =>
    ask({
      ...{ method: "POST", path: "/judge0/submissions", body: `language_id=71&stdin=${"x".repeat(bytes)}` },
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
  assert.equal((await send(4 * MEBIBYTE)).status, 413);
  assert.equal((await send(2 * MEBIBYTE)).status, 422);
});

test("a text beyond its bound is refused, also if it has few bytes in base64", LIMIT, async (t) => {
  const { ask } = await startHttp(t, { open: temporaryStore });
  const long = " ".repeat(10 * MEBIBYTE);
  const post = (more: object) =>
    ask({ method: "POST", path: "/judge0/submissions?base64_encoded=true", body: { ...PYTHON, ...more } });
  for (const field of ["source_code", "stdin", "expected_output", "additional_files", "cpu_time_limit"]) {
    const { status, json } = await post({ source_code: "MQ==", [field]: long });
    assert.deepEqual([status, Object.keys(json)], [422, [field]]);
    assert.match(json[field][0], /^is (too long|not a number)/);
  }
  for (const encoding of ["utf8", "base64", "hex"]) {
    const files = [{ content: "1" }, { content: "ab".repeat(2 * MEBIBYTE), encoding }];
    const body = { language: "python", version: "*", files };
    const { status, json } = await ask({ method: "POST", path: "/piston/api/v2/execute", body });
    assert.equal(status, 400);
    assert.match(json.message, /^files\[1\]\.content has more than 1048576 bytes/);
  }
});
