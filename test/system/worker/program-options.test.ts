import assert from "node:assert/strict";
import { test } from "node:test";
import type { Outcome } from "../../../src/domain/outcome.ts";
import type { ProgramOptions } from "../../../src/domain/program-options.ts";
import { loadLanguages } from "../../../src/languages/load.ts";
import type { Slot } from "../../../src/sandbox/slot.ts";
import { buildOutcome } from "../../../src/verdict/build-outcome.ts";
import type { Artifact } from "../../../src/worker/artifacts.ts";
import { plan } from "../../../src/worker/plan.ts";
import { runSteps } from "../../../src/worker/run-steps.ts";
import { LANGUAGES } from "../../support/languages/directory.ts";
import { useSlot } from "../../support/sandbox/one-slot.ts";

const LIMIT = { timeout: 60_000 };
const languages = loadLanguages(LANGUAGES);

let slot: Slot;
useSlot((one) => {
  slot = one;
});

type Files = Readonly<Record<string, string>>;
interface Added extends Partial<Omit<ProgramOptions, "files">> {
  readonly files?: Files;
}

let artifact: Artifact | undefined;

async function outcomeOf(name: string, code: string, added: Added): Promise<Outcome> {
  const language = languages.resolve(name) ?? assert.fail(name);
  const files = Object.entries(added.files ?? {}).map(([path, text]) => ({ name: path, data: Buffer.from(text) }));
  const options = { entry: null, args: [], env: {}, limits: {}, ...added, files };
  const program = { code: Buffer.from(code), stdin: Buffer.from("input"), options };
  artifact = undefined;
  const put = (_: unknown, made: Artifact) => {
    artifact = made;
  };
  const cache = { owner: "", get: () => artifact, put };
  const steps = plan(language, languages.limitsFor(language, "judge"), program);
  const first = buildOutcome(await runSteps(slot, steps, { cache }));
  if (!steps.compile || first.result.verdict !== "AC") return first;
  assert.ok(artifact, `${name}: all files that the compiler left are kept`);
  const again = buildOutcome(await runSteps(slot, steps, { cache }));
  assert.deepEqual([again.result, again.output], [first.result, first.output], `${name}: from the artifact`);
  return first;
}

async function prints(name: string, code: string, added: Added): Promise<string> {
  const { result, output } = await outcomeOf(name, code, added);
  assert.equal(result.verdict, "AC", `${name}: ${output?.stdout} ${output?.stderr}`);
  return String(output?.stdout);
}

/** A program of several files in each language, which prints `3 data`. */
const PROGRAMS: readonly (readonly [string, string, Files])[] = [
  [
    "c",
    '#include <stdio.h>\n#include "lib/add.h"\nint main(void) { char s[9]; fgets(s, 9, fopen("data/a.txt", "r")); printf("%d %s", add(1, 2), s); }',
    { "lib/add.h": "int add(int, int);", "lib/add.c": '#include "add.h"\nint add(int a, int b) { return a + b; }' },
  ],
  [
    "cpp",
    '#include <fstream>\n#include <iostream>\n#include "add.hpp"\nint main() { std::string s; std::ifstream("data/a.txt") >> s; std::cout << add(1, 2) << " " << s; }',
    { "add.hpp": "int add(int, int);", "add.cc": '#include "add.hpp"\nint add(int a, int b) { return a + b; }' },
  ],
  [
    "executable",
    '#!/bin/bash\n. lib/add.sh\nprintf "%s %s" "$(add 1 2)" "$(cat data/a.txt)"',
    { "lib/add.sh": "add() { printf %s $(($1 + $2)); }" },
  ],
  [
    "go",
    'package main\nimport ("fmt"; "os")\nfunc main() { s, _ := os.ReadFile("data/a.txt"); fmt.Printf("%d %s", add(1, 2), s) }',
    { "add.go": "package main\nfunc add(a, b int) int { return a + b }" },
  ],
  [
    "java",
    'import java.nio.file.*;\npublic class Main { public static void main(String[] args) throws Exception { System.out.print(lib.deep.Add.add(1, 2) + " " + Files.readString(Path.of("data/a.txt"))); } }',
    {
      "lib/deep/Add.java":
        "package lib.deep; public class Add { public static int add(int a, int b) { return a + b; } }",
    },
  ],
  [
    "javascript",
    'const { add } = require("./lib/add.js"); process.stdout.write(add(1, 2) + " " + require("fs").readFileSync("data/a.txt"));',
    { "lib/add.js": "exports.add = (a, b) => a + b;" },
  ],
  [
    "multifile",
    '. lib/add.sh\nprintf "%s %s" "$(add 1 2)" "$(cat data/a.txt)"',
    { "lib/add.sh": "add() { printf %s $(($1 + $2)); }" },
  ],
  ["plaintext", "3 data", {}],
  [
    "python",
    'import lib.add\nprint(lib.add.add(1, 2), open("data/a.txt").read(), end="")',
    { "lib/add.py": "def add(a, b): return a + b" },
  ],
  [
    "rust",
    'mod add;\nfn main() { print!("{} {}", add::add(1, 2), std::fs::read_to_string("data/a.txt").unwrap()); }',
    { "add.rs": "pub fn add(a: i32, b: i32) -> i32 { a + b }" },
  ],
  [
    "typescript",
    'import { readFileSync } from "fs";\nimport { add } from "./lib/add";\nprocess.stdout.write(add(1, 2) + " " + readFileSync("data/a.txt"));',
    { "lib/add.ts": "export function add(a: number, b: number): number { return a + b; }" },
  ],
];

test("a program of each language has several sources and a data file", LIMIT, async () => {
  assert.deepEqual(
    PROGRAMS.map(([name]) => name),
    languages.list().map(({ name }) => name),
  );
  for (const [name, code, files] of PROGRAMS)
    assert.equal(await prints(name, code, { files: { ...files, "data/a.txt": "data" } }), "3 data", name);
});

/** What a script compiles and runs with the tools of the image; each prints only `ok`. */
const SCRIPTS: Readonly<Record<string, { readonly compile?: string; readonly run: string; readonly files: Files }>> = {
  gcc: {
    compile: "gcc main.c -o main",
    run: "./main",
    files: { "main.c": '#include <stdio.h>\nint main(void) { puts("ok"); }' },
  },
  "g++": {
    compile: "g++ main.cpp -o main",
    run: "./main",
    files: { "main.cpp": '#include <iostream>\nint main() { std::cout << "ok\\n"; }' },
  },
  rustc: {
    compile: "rustc -C strip=symbols main.rs",
    run: "./main",
    files: { "main.rs": 'fn main() { println!("ok"); }' },
  },
  python3: { run: "python3 main.py", files: { "main.py": "print('ok')" } },
  node: { run: "node main.js", files: { "main.js": "console.log('ok')" } },
  "javac and java": {
    compile: "javac Main.java",
    run: "java Main",
    files: { "Main.java": 'class Main { public static void main(String[] a) { System.out.println("ok"); } }' },
  },
  "java with a source": {
    run: "java Main.java",
    files: { "Main.java": 'class Main { public static void main(String[] a) { System.out.println("ok"); } }' },
  },
};

for (const [tool, { compile, run: script, files }] of Object.entries(SCRIPTS))
  test(`a script uses ${tool}, which prints nothing of its own`, LIMIT, async () => {
    const scripts = compile === undefined ? files : { ...files, "compile.sh": compile };
    const { result, output } = await outcomeOf("multifile", script, { files: scripts });
    assert.deepEqual([result.verdict, String(output?.stdout), String(output?.stderr)], ["AC", "ok\n", ""]);
  });

test("the heap of a JVM that a program starts does not depend on the memory of the host", LIMIT, async () => {
  const code = `class Main { public static void main(String[] a) { System.out.println(Runtime.getRuntime().maxMemory() >> 20); } }`;
  const mebibytes = Number(await prints("multifile", "java Main.java", { files: { "Main.java": code } }));
  assert.ok(mebibytes > 200 && mebibytes <= 256, `${mebibytes} MiB`);
  const chosen = Number(await prints("multifile", "java -Xmx64m -Xms64m Main.java", { files: { "Main.java": code } }));
  assert.ok(chosen > 48 && chosen <= 64, `${chosen} MiB`);
});

test("an executable runs from an entry, also in another directory", LIMIT, async () => {
  const files = { prog: "#!/bin/sh\necho one\n", "bin/prog": "#!/bin/sh\necho two\n" };
  assert.equal(await prints("executable", "", { entry: "prog", files }), "one\n");
  assert.equal(await prints("executable", "", { entry: "bin/prog", files }), "two\n");
});

test("the same programs run from an entry in another directory", LIMIT, async () => {
  for (const [name, code] of [
    ["c", "#include <stdio.h>\nint main(void) { puts(__FILE__); }"],
    ["python", "import sys; print(sys.argv[0])"],
    ["javascript", 'console.log(require("path").relative("/box", __filename));'],
    ["typescript", 'import { relative } from "path";\nconsole.log(relative("/box", __filename));'],
    [
      "java",
      "package src; public class Start { public static void main(String[] args) { System.out.println(Start.class.getName()); } }",
    ],
    ["rust", 'fn main() { println!("{}", file!()); }'],
  ] as const) {
    const suffix = { c: "c", python: "py", javascript: "js", typescript: "ts", java: "java", rust: "rs" }[name];
    const entry = `src/Start.${suffix}`;
    const expected = { java: "src.Start\n", typescript: "src/Start.js\n" } as Readonly<Record<string, string>>;
    assert.equal(await prints(name, "", { entry, files: { [entry]: code } }), expected[name] ?? `${entry}\n`);
  }
});

test("arguments, variables and input reach the program as they are", LIMIT, async () => {
  const added = { args: ["-c", "two words", "", "ü$HOME;*"], env: { MODE: "a=b\n", PATH: "/nowhere" } };
  const code = "import os, sys\nprint(sys.argv, os.environ['MODE'], os.environ['PATH'], sys.stdin.read())";
  assert.equal(
    await prints("python", code, added),
    "['main.py', '-c', 'two words', '', 'ü$HOME;*'] a=b\n /nowhere input\n",
  );
  const c =
    '#include <stdio.h>\n#include <stdlib.h>\nint main(int n, char **a) { for (int i = 1; i < n; i++) puts(a[i]); puts(getenv("MODE")); }';
  assert.equal(await prints("c", c, added), "-c\ntwo words\n\nü$HOME;*\na=b\n\n");
});

test("a lower limit ends the program, and the evidence has it", LIMIT, async () => {
  const cases: readonly (readonly [ProgramOptions["limits"], string, string])[] = [
    [{ wall_time_secs: 0.2 }, "import time; time.sleep(9)", "wall_timeout"],
    [{ cpu_time_secs: 0.2 }, "while True: pass", "cpu_timeout"],
    [{ memory_bytes: 33_554_432 }, "x = 'x' * 50_000_000; print(len(x))", "oom_kill"],
    [{ processes: 2 }, "import os\nfor i in range(9): os.fork()", "pids_limit"],
    [
      { file_bytes: 1000 },
      "open('f', 'wb', 0).write(bytes(2000)) and open('f', 'ab', 0).write(b'x')",
      "file_size_limit",
    ],
  ];
  for (const [limits, code, cause] of cases) {
    const { result, evidence } = await outcomeOf("python", code, { limits });
    assert.equal(result.cause, cause, JSON.stringify(result));
    if (limits.memory_bytes) assert.equal(evidence?.limits.memoryLimitBytes, limits.memory_bytes);
    if (limits.processes) assert.equal(evidence?.limits.processLimit, limits.processes);
  }
  const { output } = await outcomeOf("python", "print('x' * 100)", { limits: { stdout_bytes: 10 } });
  assert.deepEqual([String(output?.stdout), output?.integrity], ["x".repeat(10), "truncated_by_judge_limit"]);
  for (const name of ["javascript", "java"]) {
    const code = {
      javascript: "console.log(1)",
      java: "class Main { public static void main(String[] a) { System.out.println(1); } }",
    };
    const { result, output } = await outcomeOf(name, code[name as "java"], { limits: { open_files: 40 } });
    assert.deepEqual([result.verdict, String(output?.stdout)], ["AC", "1\n"], `${name} with few descriptors`);
  }
  const nofile = await prints("python", "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))", {
    limits: { open_files: 12 },
  });
  assert.equal(nofile, "(12, 12)\n");
});

test("a program cannot change its files, and can create others next to them", LIMIT, async () => {
  const code = `import os
for path in ("data/a.txt", "main.py"):
    try: open(path, "w")
    except PermissionError: print("refused", path)
open("data/new", "w").write("x")
print(sorted(os.listdir("data")), os.stat("data/a.txt").st_uid != os.getuid())`;
  const files = { "data/a.txt": "data" };
  assert.equal(await prints("python", code, { files }), "refused data/a.txt\nrefused main.py\n['a.txt', 'new'] True\n");
});

test("files of one program are not there for the next", LIMIT, async () => {
  await prints("python", "print(1)", { files: { "secret/a": "x" } });
  assert.equal(await prints("python", "import os; print(os.listdir())", {}), "['main.py']\n");
});
