import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { NodePistonClient } from "piston-api-client";
import { useProduct } from "../../support/programs/product.ts";
import { ROOT } from "../../support/repo/documents.ts";

const LIMIT = { timeout: 60_000 };
const product = useProduct();

/** The client has no option for a key or an authority: it gets them as its users give them, in the URL and the environment. */
const CALL = `import { ${NodePistonClient.name} } from "piston-api-client";
const [server, method, body] = process.argv.slice(1);
const client = new NodePistonClient({ server, cacheTime: 0 });
console.log(JSON.stringify(await client[method](JSON.parse(body))));`;

// biome-ignore lint/suspicious/noExplicitAny: each test asserts the shape
async function call(method: "runtimes" | "execute", body: object = {}, key = product().key): Promise<any> {
  const { service, data } = product();
  const server = `https://key:${key}@127.0.0.1:${service.port}/piston`;
  const args = ["--input-type=module", "--eval", CALL, server, method, JSON.stringify(body)];
  const env = { NODE_EXTRA_CA_CERTS: join(data, "tls", "server.pem") };
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env });
  const { success, data: value, error } = JSON.parse(stdout);
  assert.equal(success, true, JSON.stringify(error));
  return value;
}

const file = (content: string, name?: string) => ({ content, ...(name !== undefined && { name }) });

test("lists the runtimes", LIMIT, async () => {
  const names = (await call("runtimes")).map(({ language }: { language: string }) => language);
  for (const name of ["c", "c++", "go", "java", "javascript", "python", "rust", "typescript"])
    assert.ok(names.includes(name), name);
});

test("runs a program with input, arguments and the limits that clients set", LIMIT, async () => {
  const { run, compile, language, version, assay_id } = await call("execute", {
    language: "py",
    version: "3.x",
    files: [
      file("import sys, helper\nprint(input(), sys.argv[1:], helper.X)\n", "my_code.py"),
      file("X = 7", "helper.py"),
    ],
    stdin: "five",
    args: ["1", "two words"],
    compile_timeout: 10_000,
    run_timeout: 3_000,
    compile_memory_limit: -1,
    run_memory_limit: -1,
  });
  assert.deepEqual([language, compile], ["python", undefined]);
  assert.match(version, /^3\.\d+\.\d+$/);
  assert.deepEqual(
    [run.stdout, run.output, run.stderr, run.code, run.signal, run.status, run.message],
    ["five ['1', 'two words'] 7\n", run.stdout, "", 0, null, null, null],
  );
  assert.ok(run.wall_time > 0 && run.cpu_time > 0 && run.memory > 1_000_000);
  const { json } = await product().ask("GET", `/api/result/${assay_id}`);
  const { result, evidence } = json as { result: { verdict: string }; evidence: { teardown: object } };
  assert.equal(result.verdict, "AC");
  assert.ok("cleanup_verified" in evidence.teardown);
});

/** The smallest program of each language, without a name, as documents of Piston show it. */
const HELLO: readonly [language: string, code: string][] = [
  ["c", '#include <stdio.h>\nint main(void) { puts("hello"); }'],
  ["c++", '#include <iostream>\nint main() { std::cout << "hello\\n"; }'],
  ["go", 'package main\nimport "fmt"\nfunc main() { fmt.Println("hello") }'],
  ["java", 'class Main { public static void main(String[] a) { System.out.println("hello"); } }'],
  ["java", 'public class Foo { public static void main(String[] a) { System.out.println("hello"); } }'],
  ["js", 'console.log("hello")'],
  ["rs", 'fn main() { println!("hello"); }'],
  ["ts", 'const text: string = "hello";\nconsole.log(text);'],
  ["ts", 'function hello(name) { return name; }\nconst text: string = null;\nconsole.log(text ?? hello("hello"));'],
];

for (const [language, code] of HELLO)
  test(`runs ${language}`, LIMIT, async () => {
    const program = { language, version: "*", files: [file(code)], compile_timeout: 10_000, run_timeout: 3_000 };
    const { compile, run, message } = await call("execute", program);
    assert.deepEqual([message, run?.stdout, run?.code], [undefined, "hello\n", 0]);
    assert.equal(compile?.code, language === "js" ? undefined : 0);
  });

for (const name of ["test.java", "prog.java", "hello-world.java"])
  test(`starts the class with main, whatever the name of the file is: ${name}`, LIMIT, async () => {
    const code = 'public class Main { public static void main(String[] a) { System.out.println("hello"); } }';
    const { run } = await call("execute", { language: "java", version: "*", files: [file(code, name)] });
    assert.deepEqual([run.stdout, run.stderr], ["hello\n", ""]);
  });

test("compiles the other files of a program", LIMIT, async () => {
  const { run } = await call("execute", {
    language: "gcc",
    version: "*",
    files: [
      file('#include <stdio.h>\n#include "two.h"\nint main(void) { printf("%d\\n", two()); }', "one.c"),
      file("int two(void) { return 2; }", "two.c"),
      file("int two(void);", "two.h"),
    ],
  });
  assert.equal(run.stdout, "2\n");
});

test("a program that does not compile has no run of its own", LIMIT, async () => {
  const program = { language: "c++", version: "*", files: [file("int main() { return x; }")] };
  const { compile, run } = await call("execute", program);
  assert.notEqual(compile.code, 0);
  assert.match(compile.stderr, /main\.cpp:1:.*x/);
  assert.deepEqual([run, compile.status, compile.stdout], [compile, "RE", ""]);
});

const LARGE =
  "template<int N> struct A { A<N - 1> a; A<N - 2> b; };\ntemplate<> struct A<0> {}; template<> struct A<1> {};\n";

test("the ways in which a program can end are reported as by Piston", { timeout: 90_000 }, async () => {
  const end = async (code: string, more: object = {}) => {
    const { compile, run } = await call("execute", { language: "python", version: "*", files: [file(code)], ...more });
    return [(compile ?? run).status, run.code, run.signal, run.message];
  };
  assert.deepEqual((await end("exit(7)")).slice(0, 3), ["RE", 7, null]);
  assert.deepEqual((await end("import os; os.kill(os.getpid(), 11)")).slice(0, 3), ["SG", null, "SIGSEGV"]);
  const [status, code, signal, message] = await end("import time; time.sleep(9)", { run_timeout: 500 });
  assert.deepEqual([status, code, signal], ["TO", null, "SIGKILL"]);
  assert.match(message, /^wall time limit exceeded: killed after 0\.5/);
  assert.deepEqual((await end("while True: pass", { run_cpu_time: 300 })).slice(0, 3), ["TO", null, "SIGKILL"]);
  const memory = await end("x = bytearray(200 << 20)", { run_memory_limit: 64 << 20 });
  assert.deepEqual(memory.slice(0, 3), ["SG", null, "SIGKILL"]);
  assert.match(memory[3], /^memory limit of 64 MiB exceeded/);
  const compiler = await end(`${LARGE}int main() { return 0; }`, { language: "c++", compile_timeout: 10 });
  assert.deepEqual(compiler.slice(0, 3), ["TO", null, "SIGKILL"]);
  assert.match(compiler[3], /^compile step: wall time limit exceeded/);
});

test("an error is a message that the client returns", LIMIT, async () => {
  const wrong = await call("execute", { language: "python", version: "2.x", files: [file("1")] });
  assert.match(wrong.message, /runtime is unknown/);
  assert.deepEqual(await call("runtimes", {}, "none"), { message: "Missing or invalid API key" });
});

/** A client from PyPI, whose models reject missing fields and fractions. It sends its key in `Authorization`. */
const PYTHON_CLIENT = "ultra-piston==1.0.1";
const PYTHON = `import json, sys
from ultra_piston import PistonClient
from ultra_piston.models import File
client = PistonClient(base_url=sys.argv[1], api_key=sys.argv[2], rate_limit=0)
ran = [client.post_execute(language, "*", File(content=code), stdin="7", args=["a"]) for language, code in json.loads(sys.argv[3])]
print(json.dumps({
    "runtimes": [one.language for one in client.get_runtimes()],
    "packages": [one.language for one in client.get_packages() if one.installed],
    "ran": [[one.language, one.run.output, one.run.code, one.compile and one.compile.code] for one in ran],
}))`;

test("the client from PyPI works", { timeout: 240_000 }, async (t) => {
  const site = mkdtempSync(join(tmpdir(), "assay-pypi-"));
  t.after(() => rmSync(site, { recursive: true }));
  const install = ["-m", "pip", "install", "--no-cache-dir", "--disable-pip-version-check", "--target", site];
  const { status, stderr } = spawnSync("/usr/bin/python3", [...install, PYTHON_CLIENT], { encoding: "utf8" });
  if (status !== 0) {
    t.skip(`${PYTHON_CLIENT} cannot be installed, so this client is NOT tested: ${stderr.trim().split("\n").at(-1)}`);
    return;
  }
  const { service, data, key } = product();
  const programs = [
    ["python3", "print(int(input()) * 6)"],
    ["c", "#include <stdio.h>\nint main(int n, char **a) { puts(a[1]); return 3; }"],
    ["c", "int main(void) { return x; }"],
  ];
  const args = ["-c", PYTHON, `https://127.0.0.1:${service.port}/piston/api/v2`, key, JSON.stringify(programs)];
  const env = { PYTHONPATH: site, SSL_CERT_FILE: join(data, "tls", "server.pem") };
  const { runtimes, packages, ran } = JSON.parse((await promisify(execFile)("/usr/bin/python3", args, { env })).stdout);
  assert.deepEqual(packages, runtimes);
  assert.deepEqual(ran.slice(0, 2), [
    ["python", "42\n", 0, null],
    ["c", "a\n", 3, 0],
  ]);
  assert.deepEqual([ran[2][2], ran[2][3]], [1, 1]);
});
