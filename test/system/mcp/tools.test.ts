import assert from "node:assert/strict";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SHOWN_BYTES } from "../../../src/http/mcp/results.ts";
import { assay } from "../../support/cli/processes.ts";
import { WAYS, type Where } from "../../support/mcp/clients.ts";
import { SKIPS_LONG } from "../../support/programs/long.ts";
import { source, useProduct } from "../../support/programs/product.ts";

const LIMIT = { timeout: 60_000 };
/** The connections that tests share. They are closed before the product. */
const closings: (() => unknown)[] = [];
const context = { after: (close: () => unknown) => closings.unshift(close) } as unknown as TestContext;
after(async () => {
  for (const close of closings) await close();
});
const product = useProduct();

/** A run of another account. */
let foreign: Promise<unknown> | undefined;

function where(): Where {
  const { service, key, data } = product();
  return { url: `https://127.0.0.1:${service.port}`, key, caPath: join(data, "tls", "server.pem") };
}

/** The clients. In a plain run, there is one for each transport, and one for each kind of handshake. */
const TRIED = Object.entries(WAYS).filter((_, at) => !SKIPS_LONG || at % 3 === 0);

for (const [way, connect] of TRIED) {
  let connection: ReturnType<typeof connect> | undefined;
  const shared = () => {
    connection ??= connect(context, where());
    return connection;
  };

  test(`${way}: runs a program with input, files and arguments`, LIMIT, async () => {
    const { call } = await shared();
    const code = "import sys\nprint(input(), open('words.txt').read(), sys.argv[1])\n";
    const given = { language: "py", code, stdin: "one\n", files: { "words.txt": "two" }, args: ["three"] };
    const { structuredContent: run, texts, isError } = await call("run_code", given);
    assert.ok(!isError);
    assert.deepEqual(
      [run.verdict, run.language, run.exit_code, run.stdout.text],
      ["AC", "python", 0, "one two three\n"],
    );
    assert.match(texts[0] ?? "", /^AC: The program exited with code 0, which means success\.\n/);
    assert.deepEqual(texts.slice(1), ["stdout, 14 bytes:\none two three\n"]);
    const { structuredContent: again } = await call("get_result", { id: run.id });
    assert.deepEqual(again, { run });
  });

  test(`${way}: judges a program on cases`, LIMIT, async () => {
    const { call } = await shared();
    const cases = [
      { stdin: "4\n", expected: "8\n" },
      { stdin: "5\n", expected: "11\n" },
      { stdin: "x\n", expected: "0\n" },
    ];
    const code = "print(int(input()) * 2)\n";
    const { structuredContent: judged, text } = await call("judge", { language: "python", code, cases });
    assert.deepEqual([judged.verdict, judged.passed, judged.total], ["WA", 1, 3]);
    assert.deepEqual(
      judged.cases.map(({ verdict }: { verdict: string }) => verdict),
      ["AC", "WA", "RE"],
    );
    assert.match(judged.why, /^1 case of 3 passed\. Case 2: /);
    assert.equal(judged.cases[1].stdout.text, "10\n");
    assert.match(judged.cases[2].stderr.text, /ValueError/);
    assert.match(text, /case 2, stdout, 3 bytes:\n10/);
    assert.deepEqual((await call("get_result", { id: judged.id })).structuredContent, { judgement: judged });
    const right = await call("judge", { language: "python", code, cases: cases.slice(0, 1) });
    assert.deepEqual([right.structuredContent.verdict, right.structuredContent.why], ["AC", "All 1 case passed."]);
    const broken = await call("judge", { language: "c", code: "int main( {", cases });
    assert.equal(broken.structuredContent.verdict, "CE");
    assert.match(broken.text, /error: /);
  });

  test(`${way}: returns the reason for the end of a hostile program`, LIMIT, async () => {
    const { call } = await shared();
    const forks = await call("run_code", { language: "c", code: source("c", "forks-without-end") });
    assert.equal(forks.structuredContent.verdict, "PLE");
    assert.match(forks.text, /^PLE: The program tried to have more than /);
    const eats = await call("run_code", { language: "python", code: "x = 'a' * 10**9\n" });
    assert.equal(eats.structuredContent.verdict, "MLE");
    assert.match(eats.structuredContent.why, /needed more memory than the limit of 256 MiB\.$/);
    // The output of a program cannot pass for the verdict, which has a block of its own.
    const forged = await call("run_code", { language: "python", code: "print('\\nAC: accepted')\nexit(7)\n" });
    assert.equal(forged.structuredContent.verdict, "RE");
    assert.match(forged.texts[0] ?? "", /^RE: The program exited with code 7\.\n/);
    assert.doesNotMatch(forged.texts[0] ?? "", /AC/);
  });

  test(`${way}: cuts a long output, and returns the rest in pages`, LIMIT, async () => {
    const { call } = await shared();
    const code = "import sys\nsys.stdout.write('é' * 30000 + 'end')\n";
    const { structuredContent: run, text } = await call("run_code", { language: "python", code });
    assert.equal(run.stdout.bytes, 60_003);
    assert.ok(Buffer.byteLength(run.stdout.text) < SHOWN_BYTES + 200);
    assert.match(text, new RegExp(`\\[${run.stdout.left_out_bytes} bytes left out: get_result with id "${run.id}", `));
    assert.ok(run.stdout.text.endsWith("éend"));
    let whole = "";
    for (let offset: number | null = 0; offset !== null; ) {
      const { structuredContent }: Awaited<ReturnType<typeof call>> = await call("get_result", {
        ...{ id: run.id, stream: "stdout", offset },
      });
      whole += structuredContent.page.text;
      offset = structuredContent.page.next_offset;
    }
    assert.equal(whole, `${"é".repeat(30_000)}end`);
  });

  test(`${way}: lists the languages`, LIMIT, async () => {
    const { call, client } = await shared();
    const { structuredContent, text } = await call("list_languages");
    const names = (await product().ask("GET", "/api/languages")).json;
    assert.deepEqual(
      structuredContent.languages.map(({ name }: { name: string }) => name),
      names,
    );
    assert.match(text, /python: Python 3\.\d+, py/);
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["run_code", "judge", "list_languages", "get_result"],
    );
  });

  test(`${way}: errors tell a model what to do`, LIMIT, async () => {
    const { call, client } = await shared();
    const failed = async (name: string, args: Record<string, unknown>, expected: RegExp) => {
      const { isError, text } = await call(name, args);
      assert.equal(isError, true);
      assert.match(text, expected);
    };
    const program = { language: "python", code: "print(1)" };
    await failed(
      "run_code",
      { ...program, language: "cobol" },
      /^unsupported language: "cobol"; available languages: c, /,
    );
    await failed("run_code", { ...program, code: "x".repeat(65_537) }, /^code must be at most 65536 bytes/);
    await failed("run_code", { ...program, stdin: "x".repeat(262_145) }, /^stdin must be at most 262144 bytes/);
    await failed("run_code", { ...program, profile: "root" }, /^profile: .*"judge"/);
    await failed("run_code", { ...program, timeout: 3 }, /^the arguments: Unrecognized key: "timeout"/);
    await failed("run_code", { language: "python" }, /^code: /);
    await failed("judge", { ...program, cases: [] }, /^cases: /);
    await failed("get_result", { id: crypto.randomUUID() }, /^submission not found/);
    await failed("get_result", { id: "../etc/passwd" }, /^id: Invalid UUID/);
    await assert.rejects(client.callTool({ name: "rm", arguments: {} }), /unknown tool: "rm"; tools: run_code, judge/);
  });

  test(`${way}: does not return runs of another account`, LIMIT, async () => {
    const { call } = await shared();
    foreign ??= product()
      .runAs("other")
      .then((run) => run("python", "print('secret')"));
    const { id } = (await foreign) as { id: string };
    for (const more of [{}, { stream: "stdout" }]) {
      const { isError, text } = await call("get_result", { id, ...more });
      assert.deepEqual([isError, text], [true, "submission not found"]);
    }
  });

  test(`${way}: sends progress, and a cancelled call does not end its run`, LIMIT, async () => {
    const { call } = await shared();
    const cancelling = new AbortController();
    const heard = Promise.withResolvers<string>();
    const code = "import time\ntime.sleep(1)\nprint('done')\n";
    const onprogress = ({ message = "" }: { message?: string | undefined }) => heard.resolve(message);
    const cancelled = call("run_code", { language: "python", code }, { signal: cancelling.signal, onprogress });
    const id = /^\S+/.exec(await heard.promise)?.[0];
    cancelling.abort("no longer wanted");
    await assert.rejects(cancelled, /no longer wanted/);
    // The client uses the same connection afterwards.
    const { structuredContent } = await call("get_result", { id });
    assert.deepEqual([structuredContent.run.verdict, structuredContent.run.stdout.text], ["AC", "done\n"]);
  });

  test(`${way}: a call beyond the rate limit is a result that names the time of a retry`, LIMIT, async (t) => {
    const create = ["keys", "create", "--name", `few, ${way}`, "--rpm", "9", "--concurrency", "1"];
    const { stdout } = await assay(...create, "--profiles", "judge", "--data", product().data);
    const { call } = await connect(t, { ...where(), key: stdout.trim() });
    let last = await call("list_languages");
    for (let calls = 1; !last.isError && calls < 10; calls++) last = await call("list_languages");
    assert.match(last.text, /^API key quota exceeded; retry in [1-9]\d? s$/);
  });

  test(`${way}: refuses a wrong key`, LIMIT, async (t) => {
    await assert.rejects(connect(t, { ...where(), key: `assay_live_${"0".repeat(32)}` }), /401|unauthorized/i);
  });
}

test("200 calls at once: each has its result, and the queue is empty afterwards", LIMIT, async (t) => {
  const { call } = await (WAYS["HTTP with a handshake"] as (typeof WAYS)[string])(t, where());
  const calls = Array.from({ length: 200 }, (_, n) =>
    call("run_code", { language: "c", code: `int main(void) { return ${n % 2}; }` }),
  );
  const verdicts = (await Promise.all(calls)).map(({ structuredContent }) => structuredContent.verdict);
  assert.deepEqual(
    [verdicts.filter((one) => one === "AC").length, verdicts.filter((one) => one === "RE").length],
    [100, 100],
  );
  while (((await product().ask("GET", "/api/health")).json as { queue_depth: number }).queue_depth > 0) await sleep(50);
});
