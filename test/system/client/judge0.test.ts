import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { installFromPypi, useJudge0 } from "../../support/client/judge0.ts";
import { useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";

const product = useProduct();

interface Told {
  readonly status: string;
  readonly stdout: string | null;
  readonly stderr: string | null;
  readonly compile_output: string | null;
  readonly exit_code: number | null;
  readonly time: number | null;
  readonly memory: number | null;
  readonly finished: boolean;
}

const ended = ({ status, stdout }: Told) => [status, stdout];

test("Judge0's own Python package works unmodified, with each of its features", { timeout: 400_000 }, async (t) => {
  const packages = installFromPypi(t, ["judge0==0.0.8"], "judge0");
  if (packages === null) {
    const reason = "NOT TESTED: there is no pip, or PyPI does not answer, so Judge0's Python package cannot be had";
    console.error(reason);
    return t.skip(reason);
  }
  const { key, service, data } = product();
  const url = `https://127.0.0.1:${service.port}/judge0`;
  const got = await useJudge0(packages, { url, key, caPath: join(data, "tls", "server.pem") });
  const feature = <T>(name: string): T => got[name] as T;

  const about = feature<Record<string, unknown>>("information");
  assert.deepEqual([about.version, about.about], ["1.13.1", "1.13.1"]);
  assert.deepEqual([about.python, about.statuses, about.batch], ["Python 3.13", 14, 20]);
  assert.deepEqual(about.supported, [true, true, false]);
  for (const id of [50, 54, 60, 62, 63, 71, 73, 74, 89]) assert.ok((about.languages as number[]).includes(id), `${id}`);

  const [one, stdout, isSame] = feature<[Told, string, boolean]>("one_submission");
  assert.deepEqual([ended(one), stdout, isSame], [["Accepted", "hé\n"], "hé\n", true]);
  assert.ok((one.time ?? 0) > 0 && (one.memory ?? 0) > 1000 && one.finished && one.exit_code === 0);
  assert.deepEqual(feature("batch"), ["0\n", "1\n", "2\n"]);
  assert.equal(feature("more_than_a_batch"), true);

  const cases = feature<{ one: Told; pair: Told; record: Told; several: Told[]; submissions: number }>("test_cases");
  const statuses = [cases.one, cases.pair, cases.record, ...cases.several].map(({ status }) => status);
  assert.deepEqual(statuses, ["Accepted", "Wrong Answer", "Accepted", "Accepted", "Wrong Answer", "Accepted"]);
  assert.equal(cases.submissions, 4);

  const [before, after, files] = feature<[boolean, Told, unknown[]]>("asynchronous");
  assert.deepEqual([before, ended(after), files], [false, ["Accepted", "7\n"], []]);

  const { module, compiled, broken, plain } = feature<Record<string, Told>>("filesystem") as never as Record<
    "module" | "compiled" | "broken" | "plain",
    Told
  >;
  assert.deepEqual(ended(module), ["Accepted", "1 ['a', 'b']\n"]);
  assert.deepEqual(ended(compiled), ["Accepted", "two files"]);
  assert.deepEqual(ended(plain), ["Accepted", "hello you\n42\n"]);
  assert.equal(broken.status, "Compilation Error");
  assert.match(broken.compile_output ?? "", /main\.cpp/);

  const settings = feature<Record<string, Told> & { warnings: Told[] }>("settings");
  const at = (name: string) => settings[name] as Told;
  assert.equal(at("arguments").stdout, "['-n', 'two words', '$HOME']\n");
  assert.deepEqual([at("options").status, at("options").exit_code], ["Runtime Error Nzec", 3]);
  for (const { status, compile_output } of settings.warnings) {
    assert.equal(status, "Accepted");
    assert.match(compile_output ?? "", /main\.c:.*warning: unused variable/);
  }
  assert.deepEqual([at("redirected").stdout, at("redirected").stderr], ["1\n2\n", null]);
  assert.equal(at("cpu").status, "Time Limit Exceeded");
  assert.equal(at("wall").status, "Time Limit Exceeded");
  assert.equal(at("memory").status, "Runtime Error Other");
  assert.equal(at("file").status, "Runtime Error Sigxfsz");
  assert.deepEqual(ended(at("others")), ["Accepted", "1\n"]);
  assert.deepEqual(ended(at("runs")), ["Accepted", "1\n"]);
  assert.deepEqual([...ended(at("failing_run")), at("failing_run").exit_code], ["Runtime Error Nzec", "1\n", 3]);

  const endings = feature<Record<string, Told> & { languages: string[] }>("endings");
  assert.deepEqual(endings.languages, ["1\n", "2\n", "3\n", "4\n", "5\n"]);
  const end = (name: string) => endings[name] as Told;
  assert.equal(end("compilation").status, "Compilation Error");
  assert.match(end("compilation").compile_output ?? "", /error/);
  assert.deepEqual([end("compilation").time, end("compilation").stdout], [null, null]);
  assert.equal(end("segfault").status, "Runtime Error Sigsegv");
  assert.deepEqual([end("exit").status, end("exit").exit_code], ["Runtime Error Nzec", 3]);
  // The package shows bytes that are not UTF-8 in this way.
  assert.equal(end("bytes").stdout, "\\xff");

  const refused = feature<string[]>("refused");
  assert.match(refused.slice(0, 3).join("\n"), /^(.*422.*\n?){3}$/);
  assert.equal(refused[3], "not supported");
  assert.deepEqual(ended(feature("implicit")), ["Accepted", "9\n"]);
});

test("a plain text is its output, and an executable runs as it is", { timeout: 60_000 }, async () => {
  const { ask, run } = product();
  const base64 = (content: string | Buffer) => Buffer.from(content).toString("base64");
  const judge = async (language_id: number, source: string | Buffer, more: Record<string, unknown> = {}) => {
    const body = { language_id, source_code: base64(source), ...more };
    const { json } = await ask("POST", "/judge0/submissions?wait=true&base64_encoded=true&fields=*", body);
    const { status_id, stdout, stderr } = json as { status_id: number; stdout: string | null; stderr: string | null };
    const text = (encoded: string | null) => Buffer.from(encoded ?? "", "base64").toString();
    return [status_id, text(stdout), text(stderr)] as const;
  };
  const text = "$HOME é\0\n  `id`";
  assert.deepEqual(await judge(43, text, { stdin: base64("x"), expected_output: base64(text) }), [3, text, ""]);
  const read = await run(
    "python",
    "import base64; print(base64.b64encode(open('/bin/cat', 'rb').read()).decode(), end='')",
  );
  const cat = Buffer.from(checked(read).output?.stdout ?? "", "base64");
  assert.equal(cat.subarray(1, 4).toString(), "ELF");
  assert.deepEqual(await judge(44, cat, { stdin: base64("input") }), [3, "input", ""]);
  const script = "#!/usr/bin/env python3\nimport sys\nprint(sys.argv[1:])\nsys.exit(3)";
  assert.deepEqual(await judge(44, script, { command_line_arguments: "-n 'a b'" }), [11, "['-n', 'a b']\n", ""]);
  const [status, , stderr] = await judge(44, cat.fill(0, 16, 64));
  assert.equal(status, 11);
  assert.match(stderr, /a\.out/);
});

test("programs that Judge0 compiles without strict checks, and Java with any class", { timeout: 60_000 }, async () => {
  const judge = async (language_id: number, source_code: string, more = {}) => {
    const { json } = await product().ask("POST", "/judge0/submissions?wait=true&fields=*", {
      language_id,
      source_code,
      ...more,
    });
    const { status_id, stdout, compile_output, compiler_options } = json as Record<string, string | null>;
    return [status_id, stdout, compile_output, compiler_options];
  };
  const loose = "function add(a, b) { return a + b; }\nlet none: string = null;\nconsole.log(add(1, 2), none);";
  assert.deepEqual(await judge(74, loose), [3, "3 null\n", null, null]);
  const [status, , messages, options] = await judge(74, loose, { compiler_options: "--strict true" });
  assert.deepEqual([status, options], [6, "--strict true"]);
  assert.match(String(messages), /TS7006/);
  const sum = "package p; public class Sum { public static void main(String[] a) { System.out.println(3); } }";
  assert.deepEqual(await judge(62, sum), [3, "3\n", null, null]);
});
