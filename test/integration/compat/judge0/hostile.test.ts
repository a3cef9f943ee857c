import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { zipOf } from "../../../support/client/judge0.ts";
import { runPending, startHttp } from "../../../support/http/running.ts";
import { onEachDatabase } from "../../../support/store/temporary.ts";
import { addEndpoint, addProject } from "../../../support/webhooks/project.ts";

const LIMIT = { timeout: 60_000 };
const PYTHON = { language_id: 71, source_code: "print(1)" };
const C = { language_id: 50, source_code: "int main(void) { return 0; }" };
const zip = (files: Readonly<Record<string, string>>) => zipOf(files).toString("base64");
const raw = (bytes: Buffer) => bytes.toString("base64");
const options = (compiler_options: string) => ({ ...C, compiler_options });

/** Bytes of an archive of one file, of which each occurrence of a text is replaced by one of the same length. */
const altered = (from: string, to: string) => {
  const bytes = zipOf({ [from]: "x" });
  return raw(Buffer.from(bytes.toString("latin1").replaceAll(from, to), "latin1"));
};

/** A stated size of one byte for a million. */
const lying = () => {
  const bytes = zipOf({ bomb: "0".repeat(1_000_000) });
  const central = bytes.indexOf("PK\x01\x02", 0, "latin1");
  bytes.writeUInt32LE(1, central + 24);
  bytes.writeUInt32LE(1, 22);
  return raw(bytes);
};

/** Bodies with the field that the answer names. */
const REFUSED: readonly (readonly [title: string, body: unknown, field: string, fault?: RegExp])[] = [
  ["no object", [], "language_id"],
  ["a text", '"x"', "language_id"],
  ["a language that is an object", { ...PYTHON, language_id: {} }, "language_id", /is not a number/],
  ["a language of another kind", { ...PYTHON, language_id: "71; drop" }, "language_id", /is not a number/],
  ["the name of a member of all objects", { ...PYTHON, language_id: "__proto__" }, "language_id"],
  ["a source that is true", { ...PYTHON, source_code: true }, "source_code", /is not a text/],
  ["a source of white space", { ...PYTHON, source_code: " \n" }, "source_code", /can't be blank/],
  ["a source with half of a pair", { ...PYTHON, source_code: "\ud800" }, "source_code", /surrogate/],
  ["a source beyond its bound", { ...PYTHON, source_code: "x".repeat(1_048_577) }, "source_code", /too long/],
  ["an input beyond its bound", { ...PYTHON, stdin: "x".repeat(4_194_305) }, "stdin", /too long/],
  ["an answer beyond its bound", { ...PYTHON, expected_output: "x".repeat(4_194_305) }, "expected_output", /too long/],
  ["an input that is a list", { ...PYTHON, stdin: ["a"] }, "stdin", /is not a text/],
  ["a limit that is no number", { ...PYTHON, cpu_time_limit: "1e999" }, "cpu_time_limit", /is not a number/],
  ["a negative limit", { ...PYTHON, cpu_time_limit: -1 }, "cpu_time_limit", /greater than or equal to/],
  ["too little memory", { ...PYTHON, memory_limit: 2048 }, "memory_limit", /greater than or equal to 16384/],
  ["a wall time of zero", { ...PYTHON, wall_time_limit: 0 }, "wall_time_limit", /greater than or equal to 1/],
  ["a flag of another kind", { ...PYTHON, redirect_stderr_to_stdout: "yes" }, "redirect_stderr_to_stdout"],
  [
    "limits of each process, of another kind",
    { ...PYTHON, enable_per_process_and_thread_time_limit: "yes" },
    "enable_per_process_and_thread_time_limit",
    /is not a boolean/,
  ],
  ["network", { ...PYTHON, enable_network: 1 }, "enable_network", /not allowed/],
  ["no run", { ...PYTHON, number_of_runs: 0 }, "number_of_runs"],
  ["too many runs", { ...PYTHON, number_of_runs: 21 }, "number_of_runs", /less than or equal to 20/],
  ["options of an interpreter", { ...PYTHON, compiler_options: "-O" }, "compiler_options", /only allowed for C/],
  ...[
    "-o /box/main.c",
    "-include /etc/passwd",
    "@/etc/passwd",
    "-fplugin=./evil.so",
    "-specs=evil",
    "-B./",
    "-wrapper ./run",
    "-I/",
    "-L.",
    "-lcrypto",
    "-Wl,-rpath,/box",
    "-Wa,-I/etc",
    "-Wp,-MD,/box/x",
    "-x assembler",
    "/etc/passwd",
    "main.c",
    "-fdump-tree-all=/box/x",
    "-save-temps",
    "-MF x",
    "-DA=/x",
    "-D",
    "-O2;ls",
    "-O2$(id)",
    "-std=c++17/../x",
    "--sysroot=/",
    `-D${"A".repeat(200)}`,
  ].map((line) => [`the option ${line.slice(0, 30)}`, options(line), "compiler_options", /is not allowed/] as const),
  ["an open quote", { ...PYTHON, command_line_arguments: "'a" }, "command_line_arguments", /quote/],
  ["an argument with a NUL", { ...PYTHON, command_line_arguments: "a\0b" }, "command_line_arguments", /plain text/],
  ["half of a pair", { ...PYTHON, command_line_arguments: "\udfff" }, "command_line_arguments", /plain text/],
  ["a long line", { ...PYTHON, command_line_arguments: "a ".repeat(257) }, "command_line_arguments", /too long/],
  ["many words", { ...PYTHON, command_line_arguments: "a ".repeat(40) }, "command_line_arguments", /32/],
  ["files that are no base64", { ...PYTHON, additional_files: "§" }, "additional_files", /base64/],
  ["files that are no archive", { ...PYTHON, additional_files: "aGk=" }, "additional_files", /ZIP/],
  ["a path above", { ...PYTHON, additional_files: altered("aa/b", "../b") }, "additional_files", /path|relative/i],
  ["an absolute path", { ...PYTHON, additional_files: altered("aetc/b", "/etc/b") }, "additional_files", /path/],
  ["a hidden file", { ...PYTHON, additional_files: zip({ ".profile": "x" }) }, "additional_files", /path/],
  ["an option as a path", { ...PYTHON, additional_files: zip({ "-o": "x" }) }, "additional_files", /path/],
  ["a path with a NUL", { ...PYTHON, additional_files: altered("abc", "a\0c") }, "additional_files"],
  ["the place of the source", { ...PYTHON, additional_files: zip({ "main.py": "x" }) }, "additional_files", /place/],
  ["a bomb", { ...PYTHON, additional_files: zip({ a: "0".repeat(2_000_000) }) }, "additional_files", /1048576 bytes/],
  ["a bomb with a false size", { ...PYTHON, additional_files: lying() }, "additional_files", /size|unpacked/],
  [
    "many files",
    { ...PYTHON, additional_files: zip(Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`f${n}`, ""]))) },
    "additional_files",
    /48 files/,
  ],
  [
    "very many files",
    { ...PYTHON, additional_files: zip(Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`f${n}`, ""]))) },
    "additional_files",
    /192 files/,
  ],
  ["a large archive", { ...PYTHON, additional_files: raw(randomBytes(1_300_000)) }, "additional_files", /too long/],
  ["several files without any", { language_id: 89 }, "additional_files", /can't be blank/],
  ["several files without a script", { language_id: 89, additional_files: zip({ a: "x" }) }, "additional_files", /run/],
  [
    "several files with a source",
    { language_id: 89, source_code: "x", additional_files: zip({ run: "ls" }) },
    "source_code",
    /must be blank/,
  ],
  ["a callback without a project", { ...PYTHON, callback_url: "https://example.com/" }, "callback_url", /not allowed/],
  ...[
    "http://127.0.0.1/",
    "https://user@example.com/",
    "https://example.com/#a",
    "ftp://example.com",
    "file:///etc/passwd",
    "x",
    "https://exa mple.com",
    "https://example.com/\0",
    "https:\\\\example.com",
    `https://example.com/${"a".repeat(2_100)}`,
  ].map(
    (url) => [`the callback ${url.slice(0, 30)}`, { ...PYTHON, callback_url: url }, "callback_url", /URL/] as const,
  ),
  ["a callback that is a list", { ...PYTHON, callback_url: ["https://example.com"] }, "callback_url", /URL/],
];

onEachDatabase((open) => {
  test("an invalid value is an error that names its field, and leaves nothing", LIMIT, async (t) => {
    const { ask, store, engine } = await startHttp(t, { open });
    engine.languages = ["python", "c", "multifile"];
    for (const [title, body, field, fault] of REFUSED) {
      const { status, json, text } = await ask({ method: "POST", path: "/judge0/submissions", body });
      assert.equal(status, 422, `${title}: ${text.slice(0, 300)}`);
      assert.deepEqual(Object.keys(json), [field], `${title}: ${text.slice(0, 300)}`);
      if (fault) assert.match(json[field].join(), fault, title);
    }
    assert.equal(await store.submissions.depth(), 0);
    assert.equal((await ask({ path: "/judge0/submissions" })).json.meta.total_count, 0);
  });

  test("a callback goes only to the origin of an active endpoint of the project", LIMIT, async (t) => {
    const { ask, store, key } = await startHttp(t, { open });
    const project = await addProject(store, "shop");
    const own = await key({ project: project.id });
    const { id } = await addEndpoint(store, project, { url: "https://hooks.example.com/results" });
    const call = (callback_url: string) =>
      ask({ method: "POST", path: "/judge0/submissions", body: { ...PYTHON, callback_url }, key: own });
    for (const url of [
      "https://127.0.0.1/",
      "https://localhost:8443/",
      "https://[::1]/",
      "https://169.254.169.254/latest/meta-data/",
      "https://metadata.google.internal/",
      "https://10.0.0.1/",
      "https://hooks.example.com:8443/results",
      "https://hooks.example.com.evil.example/results",
      "https://example.com/",
    ]) {
      const { status, json } = await call(url);
      assert.deepEqual([status, Object.keys(json)], [422, ["callback_url"]], url);
    }
    assert.equal((await call("https://hooks.example.com/other?id=7")).status, 201);
    await runPending(store);
    const deliveries = await store.deliveries.list({ max: 10 });
    assert.deepEqual(deliveries.map(({ url, endpointId }) => [url, endpointId]).sort(), [
      ["https://hooks.example.com/other?id=7", id],
      ["https://hooks.example.com/results", id],
    ]);
    await store.endpoints.setActive(id, false, "test");
    assert.equal((await call("https://hooks.example.com/other")).status, 422);
  });

  test("other accounts and other clients' submissions are unknown", LIMIT, async (t) => {
    const { ask, submit, key } = await startHttp(t, { open });
    const { json } = await ask({ method: "POST", path: "/judge0/submissions", body: PYTHON });
    const other = await key({ account: "another" });
    const plain = (await submit()).json.id;
    for (const [token, whose] of [
      [json.token, other],
      [plain, undefined],
      ["%00", undefined],
      ["..%2f..%2fapi", undefined],
    ] as const) {
      const asked = { path: `/judge0/submissions/${token}`, ...(whose && { key: whose }) };
      assert.equal((await ask(asked)).status, 404, token);
    }
    const batch = await ask({ path: `/judge0/submissions/batch?tokens=${json.token},${plain},%00`, key: other });
    assert.deepEqual(batch.json, { submissions: [null, null, null] });
    for (const path of ["/judge0/submissions", "/judge0/statistics"]) {
      const { text } = await ask({ path, key: other });
      assert.doesNotMatch(text, new RegExp(json.token));
    }
    assert.equal((await ask({ path: "/judge0/submissions", key: other })).json.meta.total_count, 0);
  });

  test("a key is in any of three headers, and the first one decides", LIMIT, async (t) => {
    const { ask, key } = await startHttp(t, { open });
    const own = await key();
    const status = async (headers: Record<string, string>, path = "/judge0/about") =>
      (await ask({ path, key: null, headers })).status;
    assert.equal(await status({ "x-auth-token": own }), 200);
    assert.equal(await status({ "x-api-key": own }), 200);
    assert.equal(await status({ authorization: `Bearer ${own}` }), 200);
    assert.equal(await status({ "x-auth-token": "wrong", "x-api-key": own }), 401);
    assert.equal(await status({}), 401);
    assert.equal(await status({ "x-auth-token": own }, "/api/languages"), 401);
    const body = { method: "POST", key: null, headers: { "x-auth-token": own } } as const;
    for (const path of ["/judge0/authenticate", "/judge0/authorize"])
      assert.equal((await ask({ ...body, path })).status, 200);
  });

  test("large batches, full queues, spent limits and waits end with clear errors", LIMIT, async (t) => {
    const { ask, store, key } = await startHttp(t, { open, maxPending: 4, holdMs: 200 });
    const post = (path: string, body: unknown, more = {}) =>
      ask({ method: "POST", path: `/judge0/${path}`, body, ...more });
    const many = (amount: number) => ({ submissions: Array.from({ length: amount }, () => PYTHON) });
    assert.equal((await post("submissions/batch", many(10_000))).status, 400);
    assert.equal((await post("submissions/batch", { submissions: { length: 5 } })).status, 400);
    assert.equal((await post("submissions/batch", [])).status, 400);
    assert.equal(await store.submissions.depth(), 0);
    const waited = await post("submissions?wait=true", PYTHON);
    assert.deepEqual([waited.status, waited.json.status.id], [201, 1]);
    const batch = await post("submissions/batch", many(3));
    assert.equal(batch.status, 201);
    assert.deepEqual(
      batch.json.map((one: object) => Object.keys(one)),
      [["token"], ["error"], ["error"]],
    );
    const full = await post("submissions", PYTHON);
    assert.deepEqual([full.status, full.json], [503, { error: "queue is full" }]);
    assert.equal((await post("submissions/batch", many(2))).status, 503);
    const spent = await key({ requestsPerMinute: 2, account: "other" });
    await runPending(store);
    const limited = await post("submissions/batch", many(2), { key: spent });
    assert.equal(limited.status, 201);
    assert.equal((await post("submissions", PYTHON, { key: spent })).status, 429);
  });

  test("parameters of pages and fields are bounded", LIMIT, async (t) => {
    const { ask } = await startHttp(t, { open });
    for (const query of [
      "page=99999999",
      "per_page=101",
      "page=x",
      "fields=__proto__",
      `fields=${"a,".repeat(500)}`,
      "page=1e9",
    ])
      assert.equal((await ask({ path: `/judge0/submissions?${query}` })).status, 400, query);
    const tokens = Array.from({ length: 21 }, () => "d85cd024-1548-4165-96c7-7bc88673f194").join(",");
    assert.equal((await ask({ path: `/judge0/submissions/batch?tokens=${tokens}` })).status, 400);
    assert.equal((await ask({ path: "/judge0/submissions?per_page=0" })).status, 200);
    assert.equal((await ask({ path: "/judge0/submissions?fields=stdout&fields=token&token=1" })).status, 200);
  });

  test("before the smoke tests, a submission is 503 with Retry-After", LIMIT, async (t) => {
    const { ask, engine } = await startHttp(t, { open });
    engine.languages = [];
    const { status, headers } = await ask({ method: "POST", path: "/judge0/submissions", body: PYTHON });
    assert.equal(status, 503);
    assert.match(headers["retry-after"] ?? "", /^[1-9]\d*$/);
  });

  test("what was sent outlives a restart and a waiting client is answered at the end", LIMIT, async (t) => {
    const { ask, store, another, engine } = await startHttp(t, { open });
    engine.languages = ["python", "c", "multifile"];
    const sent = { ...PYTHON, stdin: "a\0b", expected_output: "1", command_line_arguments: "-n 'a b'" };
    const files = zip({ "lib/a.py": "A = 1\n" });
    const body = { ...sent, additional_files: files, cpu_time_limit: 0.5 };
    const waiting = ask({ method: "POST", path: "/judge0/submissions?wait=true&fields=*", body });
    while ((await runPending(store)) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const { status, json } = await waiting;
    assert.deepEqual([status, json.status.id, json.stdout], [201, 3, "1\n"]);
    assert.deepEqual([json.stdin, json.expected_output, json.cpu_time_limit], ["a\0b", "1", "0.5"]);
    assert.equal(json.additional_files.replaceAll("\n", ""), files);
    const other = await another();
    const [submission] = await Promise.all(
      (await other.accounts.list()).map(({ id }) => other.submissions.get(json.token, id)),
    );
    assert.ok(submission);
    assert.equal((await other.foreign.about("judge0", submission))?.note, 3);
    assert.deepEqual((await ask({ path: `/judge0/submissions/${json.token}?fields=*` })).json, json);
  });

  test("retention deletes what was sent with the submission", LIMIT, async (t) => {
    const { ask, store, clock } = await startHttp(t, { open });
    const { json } = await ask({ method: "POST", path: "/judge0/submissions", body: PYTHON });
    await runPending(store);
    await store.retention.purge(clock.nowMs + 1, 10);
    assert.equal((await ask({ path: `/judge0/submissions/${json.token}` })).status, 404);
    assert.equal((await ask({ path: "/judge0/submissions" })).json.meta.total_count, 0);
  });
});
