import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_FILES_BYTES } from "../../../src/domain/program-options.ts";
import { startHttp } from "../../support/http/running.ts";

const LIMIT = { timeout: 20_000 };
const base64 = (text: string) => Buffer.from(text).toString("base64");

test("the worker gets files, arguments, variables and limits as they were sent", LIMIT, async (t) => {
  const { submit, store } = await startHttp(t);
  const { status } = await submit({
    language: "c",
    code_base64: Buffer.from([0x2f, 0x2f, 0xff]).toString("base64"),
    stdin_base64: "AAE=",
    files: { "data/a.txt": "ü", "b.bin": { base64: "/wA=" } },
    args: ["-n", "two words", ""],
    env: { MODE: "a=b" },
    limits: { wall_time_secs: 0.5, memory_bytes: 33_554_432 },
    compile_limits: { cpu_time_secs: 3 },
  });
  assert.equal(status, 202);
  const [claim] = await store.submissions.claim("worker", 10_000);
  assert.deepEqual(claim?.program, {
    code: Buffer.from([0x2f, 0x2f, 0xff]),
    stdin: Buffer.from([0, 1]),
    options: {
      files: [
        { name: "b.bin", data: Buffer.from([0xff, 0]) },
        { name: "data/a.txt", data: Buffer.from("ü") },
      ],
      entry: null,
      args: ["-n", "two words", ""],
      env: { MODE: "a=b" },
      limits: { wall_time_secs: 0.5, memory_bytes: 33_554_432 },
      compileLimits: { cpu_time_secs: 3 },
    },
  });
});

test("a file can take the place of the code", LIMIT, async (t) => {
  const { submit, store } = await startHttp(t);
  const { status } = await submit({ language: "python", entry: "app/run.py", files: { "app/run.py": "print(1)" } });
  assert.equal(status, 202);
  const [claim] = await store.submissions.claim("worker", 10_000);
  assert.deepEqual([claim?.program.code.length, claim?.program.options?.entry], [0, "app/run.py"]);
});

test(
  "a repeated request with the same options is the same submission, with others it is a conflict",
  LIMIT,
  async (t) => {
    const { submit } = await startHttp(t);
    const headers = { "idempotency-key": "0f8fad5b-d9cb-469f-a165-70867728950e" };
    const body = { language: "python", code: "x", files: { a: "1", b: "2" }, args: ["1"] };
    const first = await submit(body, { headers });
    const again = await submit(
      { args: ["1"], files: { b: "2", a: { base64: base64("1") } }, code: "x", language: "py" },
      { headers },
    );
    assert.deepEqual([again.status, again.json.id], [202, first.json.id]);
    for (const other of [{ args: ["2"] }, { files: { a: "1" } }, { env: { A: "1" } }, { limits: { processes: 1 } }])
      assert.equal((await submit({ ...body, ...other }, { headers })).status, 422);
  },
);

const many = (amount: number, member: (n: number) => readonly [string, string]) =>
  Object.fromEntries(Array.from({ length: amount }, (_, n) => member(n)));

const REFUSED: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
  ["code twice", { code: "x", code_base64: "eA==" }, /^code_base64: code is given as well$/],
  ["input twice", { code: "x", stdin: "", stdin_base64: "" }, /^stdin_base64: stdin is given as well$/],
  ["code that is not base64", { code_base64: "e" }, /^code_base64: is not base64$/],
  ["empty code in base64", { code_base64: "" }, /^code must not be empty$/],
  ["neither code nor entry", { files: { a: "x" } }, /^code is required$/],
  ["code and entry", { code: "x", entry: "a", files: { a: "x" } }, /^entry: code is given as well$/],
  ["an entry that is no file", { entry: "b", files: { a: "x" } }, /^entry: "b" is not one of the files$/],
  ["too much code in base64", { code_base64: base64("x".repeat(65_537)) }, /^code must be at most 65536 bytes/],
  ["the source as a file", { code: "x", files: { "main.py": "y" } }, /^files: "main.py" has the place of the source$/],
  ["a file below a file", { code: "x", files: { a: "", "a/b": "" } }, /^files: "a" has the place of "a\/b"$/],
  ["a file below the source", { code: "x", files: { "main.py/b": "" } }, /has the place of/],
  ["a path that leads out", { code: "x", files: { "../a": "" } }, /^files\."\.\.\/a": a path has up to/],
  ["an absolute path", { code: "x", files: { "/etc/passwd": "" } }, /a path has up to/],
  ["a hidden file", { code: "x", files: { ".bashrc": "" } }, /a path has up to/],
  ["an option of a compiler as a file", { code: "x", files: { "a/@b": "" } }, /a path has up to/],
  [
    "text that runs from right to left",
    { code: "x", files: { "a\u202etxt.py": "" } },
    /^files\."a\u202etxt\.py": a path has up to/,
  ],
  [
    "two encodings of a name",
    { code: "x", files: { "\u00e9": "", "e\u0301": "" } },
    /^files: "\u00e9" has the place of another file$/,
  ],
  [
    "another encoding of a directory",
    { code: "x", files: { "\u00e9": "", "e\u0301/a": "" } },
    /^files: "\u00e9" has the place of/,
  ],
  ["a prototype as a file", { code: "x", files: JSON.parse('{"__proto__": "x"}') }, /__proto__/],
  ["a file that is a number", { code: "x", files: { a: 1 } }, /^files\.a: /],
  ["a file that is not base64", { code: "x", files: { a: { base64: "@" } } }, /^files\."a"\.base64: is not base64$/],
  ["half of a surrogate pair in a file", { code: "x", files: { a: "\ud800" } }, /must be valid Unicode/],
  ["49 files", { code: "x", files: many(49, (n) => [`f${n}`, ""]) }, /^files: more than 48 files$/],
  ["too many bytes", { code: "x", files: { a: "x".repeat(MAX_FILES_BYTES + 1) } }, /^files: more than 1048576 bytes$/],
  ["files in a list", { code: "x", files: ["a"] }, /^files: /],
  ["an argument that is a number", { code: "x", args: [1] }, /^args\.0: /],
  ["U+0000 in an argument", { code: "x", args: ["a\0"] }, /^args: contains U\+0000$/],
  ["33 arguments", { code: "x", args: Array(33).fill("") }, /^args: more than 32 arguments$/],
  ["long arguments", { code: "x", args: ["x".repeat(16_384)] }, /^args: with env more than 16384 bytes$/],
  ["a variable with =", { code: "x", env: { "A=B": "1" } }, /^env: "A=B" is not the name of a variable$/],
  ["U+0000 in a variable", { code: "x", env: { A: "\0" } }, /^env: contains U\+0000$/],
  ["33 variables", { code: "x", env: many(33, (n) => [`V${n}`, ""]) }, /^env: more than 32 variables$/],
  ["an unknown limit", { code: "x", limits: { cpus: 4 } }, /^limits: /],
  ["a higher limit", { code: "x", limits: { processes: 100_000 } }, /^limits\.processes: at most \d+ for python in/],
  ["a limit too low to start", { code: "x", limits: { memory_bytes: 1 } }, /^limits\.memory_bytes: /],
  ["a limit that is not whole", { code: "x", limits: { processes: 1.5 } }, /^limits\.processes: /],
  ["a limit of null", { code: "x", limits: { processes: null } }, /^limits\.processes: /],
  [
    "a limit of no compiler",
    { code: "x", compile_limits: { wall_time_secs: 1 } },
    /^compile_limits: python has no compile/,
  ],
  [
    "a higher limit of a compiler",
    { code: "x", language: "c", compile_limits: { wall_time_secs: 15.1 } },
    /^compile_limits\.wall_time_secs: at most 15 for c in/,
  ],
  ["an unknown limit of a compiler", { code: "x", language: "c", compile_limits: { cpus: 4 } }, /^compile_limits: /],
  ["stream as text", { code: "x", stream: "true" }, /^stream: /],
];

test("invalid options are rejected with the field and the reason", LIMIT, async (t) => {
  const { submit, store } = await startHttp(t);
  for (const [title, body, error] of REFUSED) {
    const { status, json } = await submit({ language: "python", ...body });
    assert.deepEqual([status, error.test(json.error)], [400, true], `${title}: ${JSON.stringify(json)}`);
  }
  assert.equal(await store.submissions.depth(), 0);
});

test("a program that is judged again keeps the limits of its compiler", LIMIT, async (t) => {
  const { ask, store } = await startHttp(t);
  const body = { language: "c", code: "x", compile_limits: { cpu_time_secs: 3 }, tests: [{ expected: "" }] };
  const first = await ask({ method: "POST", path: "/api/judgements", body });
  assert.equal(first.status, 202, first.text);
  const again = await ask({ method: "POST", path: `/api/judgements/${first.json.id}/rejudge` });
  assert.equal(again.status, 202, again.text);
  const claims = await store.submissions.claim("worker", 10_000, 2);
  assert.deepEqual(
    claims.map(({ program }) => program.options?.compileLimits),
    [{ cpu_time_secs: 3 }, { cpu_time_secs: 3 }],
  );
});
