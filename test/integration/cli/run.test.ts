import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { assay, assayReading, type Ended } from "../../support/cli/processes.ts";
import { type Launcher, startLauncher } from "../../support/launcher/launcher.ts";
import { checked } from "../../support/programs/record.ts";

const LIMIT = { timeout: 60_000 };

let launcher: Launcher;
let directory: string;
before(async () => {
  launcher = await startLauncher({ slots: 4 });
  directory = mkdtempSync(join(tmpdir(), "assay-run-"));
});
after(async () => {
  rmSync(directory, { recursive: true });
  assert.equal(await launcher.stop(), 0, launcher.stderr());
});

/** A source file of this name. */
function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

const run = (...args: string[]): Promise<Ended> => assay("run", ...args, "--launcher-socket", launcher.socket);

async function record(...args: string[]) {
  const { code, stdout, stderr } = await run(...args, "--json");
  assert.equal(stderr, "");
  return { code, ...checked(JSON.parse(stdout)) };
}

test("exits with 0 for AC only, and prints the service's record as JSON", LIMIT, async () => {
  const good = await record(file("good.py", "print('hello')\n"));
  assert.deepEqual([good.code, good.result.verdict, good.output.stdout], [0, "AC", "hello\n"]);
  assert.deepEqual([good.language, good.profile], ["python", "judge"]);
  const seven = await record(file("seven.py", "raise SystemExit(7)\n"));
  assert.deepEqual([seven.code, seven.result.verdict, seven.result.exit_code], [1, "RE", 7]);
  const wrong = await record(file("wrong.c", "int main( {\n"));
  assert.deepEqual([wrong.code, wrong.result.cause], [1, "compile_error"]);
  assert.match(wrong.output.stderr, /^main\.c:1/);
});

test("shows the control characters of a program instead of writing them to the terminal", LIMIT, async () => {
  const path = file("clears.py", 'print("\\x1b[2J\\x1b[HAC  accepted\\tpython\\r\\u009b2K")\nraise SystemExit(7)\n');
  const text = await run(path);
  assert.match(text.stdout, /^RE {2}runtime error/);
  assert.ok(text.stdout.includes("\\u{1b}[2J\\u{1b}[HAC  accepted\tpython\\u{d}\\u{9b}2K\n"), text.stdout);
  const json = await run(path, "--json");
  assert.doesNotMatch(json.stdout.replaceAll("\n", ""), /\p{Cc}/u);
  assert.equal(JSON.parse(json.stdout).output.stdout, "\x1b[2J\x1b[HAC  accepted\tpython\r\u009b2K\n");
});

test("prints the verdict first, then the output, then the evidence", LIMIT, async () => {
  const { code, stdout, stderr } = await run(file("said.js", "console.log('to out'); console.error('to err');"));
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(stdout, /^AC {2}accepted {3}javascript, judge\n/);
  assert.match(
    stdout,
    /\ncause .*\n--- stdout\nto out\n--- stderr\nto err\n---\ntime .*\nmemory .*\n[\s\S]*\ncontrols .*strict/,
  );
  assert.match(stdout, /teardown +verified: nothing left\n/);
});

test("the program reads a file, the command's standard input, or nothing", LIMIT, async () => {
  const source = file("reads.py", "import sys; print(repr(sys.stdin.read()))\n");
  assert.equal((await record(source)).output.stdout, "''\n");
  const given = await record(source, "--stdin", file("given", "from a file\n"));
  assert.equal(given.output.stdout, "'from a file\\n'\n");
  const args = ["run", source, "--stdin", "-", "--json", "--launcher-socket", launcher.socket];
  const { stdout } = await assayReading("from\u00e9 outside", ...args);
  assert.equal(checked(JSON.parse(stdout)).output.stdout, "'from\u00e9 outside'\n");
});

test("runs a directory of files, with arguments and variables", LIMIT, async () => {
  const files = {
    "app/main.py":
      "import helper, os, sys; print(helper.double(open('data/n.txt').read()), sys.argv[1:], os.environ['MODE'])",
    "app/other.py": "print('other')",
    "app/helper.py": "def double(text): return int(text) * 2",
    "app/data/n.txt": "21\n",
  };
  mkdirSync(join(directory, "app/data"), { recursive: true });
  for (const [name, text] of Object.entries(files)) file(name, text);
  const app = join(directory, "app");
  const words = ["--arg", "a b", "--arg", "c", "--env", "MODE=fast"];
  assert.equal((await record(app, ...words)).output.stdout, "42 ['a b', 'c'] fast\n");
  assert.equal((await record(app, "--entry", "other.py")).output.stdout, "other\n");
  for (const [args, message] of [
    [["--entry", "none.py"], /has no file none\.py/],
    [["--language", "cobol"], /unknown language cobol/],
    [["--env", "MODE"], /is not NAME=VALUE/],
  ] as const) {
    const { code, stderr } = await run(app, ...args);
    assert.equal(code, 1, stderr);
    assert.match(stderr, message);
  }
  const one = file("args.js", "console.log(process.argv.slice(2).join());");
  assert.equal((await record(one, "--arg", "x", "--arg", "y")).output.stdout, "x,y\n");
});

test("takes the language from the option, or from the file name by name or alias", LIMIT, async () => {
  const shown = async (name: string, ...more: string[]) => (await record(file(name, "print(1)"), ...more)).language;
  assert.equal(await shown("one.py"), "python");
  assert.equal(await shown("two.txt", "--language", "py"), "python");
  assert.equal(await shown("three.js", "--language", "python"), "python");
  const cpp = await record(file("four.cc", "int main() {}"));
  assert.deepEqual([cpp.code, cpp.language], [0, "cpp"]);
});

test("an unknown or missing language prints one sentence with the known languages", LIMIT, async () => {
  const all = "c, cpp, go, java, javascript, python, rust, typescript";
  const named = await run(file("five.py", "print(1)"), "--language", "cobol");
  assert.deepEqual(named, { code: 1, stdout: "", stderr: `assay: unknown language cobol; there are ${all}\n` });
  for (const name of ["six.txt", ".py"]) {
    const { code, stdout, stderr } = await run(file(name, "print(1)"));
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(
      stderr,
      new RegExp(`^assay: the extension of .*${name} is of no known language; .*--language.*${all}\n$`),
    );
  }
});

test("a missing or unreadable file prints one sentence", LIMIT, async () => {
  for (const args of [["/nonexistent.py"], [file("seven.py", "print(1)"), "--stdin", "/nonexistent"]]) {
    const { code, stdout, stderr } = await run(...args);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /^assay: .*ENOENT.*\n$/);
  }
});

test("the agent profile has its own limits; rejects unknown profiles", LIMIT, async () => {
  const source = file("eight.py", "print(1)");
  const judge = await record(source);
  const agent = await record(source, "--profile", "agent");
  assert.deepEqual([agent.code, agent.profile], [0, "agent"]);
  const memory = (of: typeof judge) => of.evidence.limits.cgroup.memory_limit_bytes;
  assert.ok(memory(agent) > memory(judge));
  const { code, stderr } = await run(source, "--profile", "root");
  assert.equal(code, 1);
  assert.match(stderr, /Allowed choices are judge, agent/);
});

test("reports a missing launcher", LIMIT, async () => {
  const { code, stdout, stderr } = await assay("run", file("nine.py", ""), "--launcher-socket", "/nonexistent");
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /^assay: the launcher cannot be reached: connect ENOENT \/nonexistent\n$/);
});
