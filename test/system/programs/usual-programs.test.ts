import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { installedLanguages } from "../../../src/cli/installed-languages.ts";
import { useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";

/** Programs as people have them: with what other judges and ordinary machines offer. */
const product = useProduct({ workers: 2 });

type Fields = Readonly<Record<string, unknown>>;

async function outcomeOf(language: string, fields: Fields) {
  return checked(await product().submit({ language, ...fields }));
}

async function prints(language: string, fields: Fields, expected: string | RegExp): Promise<void> {
  const { result, output } = await outcomeOf(language, fields);
  assert.equal(result.verdict, "AC", JSON.stringify({ result, output }));
  if (typeof expected === "string") assert.equal(output.stdout, expected);
  else assert.match(output.stdout, expected);
}

async function fails(language: string, fields: Fields, message: RegExp): Promise<void> {
  const { result, output } = await outcomeOf(language, fields);
  assert.deepEqual([result.verdict, result.cause], ["RE", "compile_error"], JSON.stringify(output));
  assert.match(output.stderr, message);
}

describe("C++ with pragmas above its headers", () => {
  /** The headers are short, so that compilers on a busy machine stay within their limits. */
  const program = [
    "#include <deque>",
    "#include <iostream>",
    "#include <map>",
    "#include <string>",
    "#include <vector>",
    "int main() {",
    '  std::map<std::string, std::vector<int>> m; m["a"] = {1, 2}; std::deque<std::string> d(2); std::vector<bool> b(9);',
    '  std::cout << m["a"].size() << d.size() << b.size();',
    "}",
  ].join("\n");
  for (const pragma of [
    'target("avx2")',
    'target("avx2,bmi,bmi2,lzcnt,popcnt")',
    'target("sse4.2")',
    'optimize("O3,unroll-loops")',
  ])
    test(pragma, () => prints("cpp", { code: `#pragma GCC ${pragma}\n${program}` }, "229"));
  for (const option of ["-std=gnu++17", "-std=c++23", "-O0"])
    test(`target("avx2") with ${option}`, () =>
      prints("cpp", { code: `#pragma GCC target("avx2")\n${program}`, compiler_options: [option] }, "229"));
  test("and all headers", () =>
    prints(
      "cpp",
      {
        profile: "agent",
        code: '#pragma GCC optimize("O3")\n#pragma GCC target("avx2")\n#include <bits/stdc++.h>\nint main() { std::vector<int> v{1}; std::cout << v.size(); }',
      },
      "1",
    ));
});

const ONLINE_JUDGE: Readonly<Record<string, string>> = {
  c: '#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\n#ifdef ONLINE_JUDGE\nprintf("%s %d", getenv("ONLINE_JUDGE"), ONLINE_JUDGE);\n#endif\n}',
  cpp: '#include <cstdlib>\n#include <iostream>\nint main() {\n#ifdef ONLINE_JUDGE\nstd::cout << getenv("ONLINE_JUDGE") << " " << ONLINE_JUDGE;\n#endif\n}',
  go: 'package main\nimport ("fmt"; "os")\nfunc main() { fmt.Print(os.Getenv("ONLINE_JUDGE"), " 1") }',
  java: 'class Main { public static void main(String[] a) { System.out.print(System.getenv("ONLINE_JUDGE") + (System.getProperty("ONLINE_JUDGE") != null ? " 1" : "")); } }',
  javascript: 'process.stdout.write(process.env.ONLINE_JUDGE + " 1")',
  python: 'import os\nprint(os.environ["ONLINE_JUDGE"], 1, end="")',
  rust: 'fn main() { if cfg!(ONLINE_JUDGE) { print!("{} 1", std::env::var("ONLINE_JUDGE").unwrap()); } }',
  typescript: 'process.stdout.write(process.env.ONLINE_JUDGE + " 1")',
};

describe("ONLINE_JUDGE is defined", () => {
  const names = installedLanguages()
    .list()
    .map(({ name }) => name)
    .filter((name) => name in ONLINE_JUDGE);
  assert.deepEqual(names.toSorted(), Object.keys(ONLINE_JUDGE).toSorted());
  for (const [name, code] of Object.entries(ONLINE_JUDGE))
    test(name, async () => {
      await prints(name, { code }, "true 1");
      const { output } = await outcomeOf(name, { code });
      assert.equal(output.stderr, "");
    });
  test("and a request can give the variable another value", () =>
    prints("python", { code: ONLINE_JUDGE.python, env: { ONLINE_JUDGE: "own" } }, "own 1"));
});

describe("C as older compilers accepted it", () => {
  const program = '#include <stdio.h>\nmain() { alarm(9); int *p = 0; long n = p; printf("%ld", n); return 0; }';
  test("functions without a declaration are warnings", () => prints("c", { code: program }, "0"));
  test("and a request can make them errors", () =>
    fails("c", { code: program, compiler_options: ["-Werror"] }, /implicit declaration of function/));
});

describe("the usual locales exist", () => {
  test("std::locale", () =>
    prints(
      "cpp",
      {
        code: '#include <iostream>\n#include <locale>\nint main() { std::cout.imbue(std::locale("en_US.UTF-8")); std::cout << 1234567 << "\\n"; std::cout.imbue(std::locale("de_DE.utf8")); std::cout << 1234567; }',
      },
      "1,234,567\n1.234.567",
    ));
  test("setlocale of C, and its default", () =>
    prints(
      "c",
      {
        code: '#include <locale.h>\n#include <stdio.h>\nint main(void) { printf("%s ", setlocale(LC_ALL, "")); printf("%s", setlocale(LC_ALL, "ru_RU.UTF-8")); }',
      },
      "C.UTF-8 ru_RU.UTF-8",
    ));
  test("setlocale of Python, and the order of words", () =>
    prints(
      "python",
      {
        code: 'import locale\nlocale.setlocale(locale.LC_ALL, "en_US.UTF-8")\nprint(locale.format_string("%d", 1234567, grouping=True), sorted(["b", "A", "a", "B"], key=locale.strxfrm))',
      },
      "1,234,567 ['a', 'A', 'b', 'B']\n",
    ));
});

describe("Go modules", () => {
  const MODULE = "module example.org/app // a comment\n\ngo 1.21\n";
  const main = (imports: string, body: string) =>
    `package main\n\nimport (\n${imports}\n)\n\nfunc main() {\n${body}\n}\n`;
  test("have packages, internal ones too, and tests are left out", () =>
    prints(
      "go",
      {
        code: main('"fmt"\n"example.org/app/util"', "fmt.Print(util.Sum(1, 2))"),
        files: {
          "go.mod": MODULE,
          "util/util.go":
            'package util\nimport "example.org/app/internal/deep"\nfunc Sum(a, b int) int { return deep.Sum(a, b) }',
          "util/util_test.go": 'package util_test\nimport "testing"\nfunc TestNothing(t *testing.T) {}',
          "internal/deep/deep.go": "package deep\nfunc Sum(a, b int) int { return a + b }",
          "internal/deep/windows.go": "//go:build windows\n\npackage deep\nfunc Sum(a, b int) int { return 0 }",
        },
      },
      "3",
    ));
  test("have commands in directories, modules in other directories, and vendor/", () =>
    prints(
      "go",
      {
        entry: "cmd/run/main.go",
        files: {
          "go.mod": `${MODULE}\nrequire other.org/x v1.0.0\n\nreplace (\n\tother.org/x v1.0.0 => ./x\n)\n`,
          "cmd/run/main.go": main('"fmt"\n"other.org/x/y"\n"third.org/v"', "fmt.Print(y.Y, v.V)"),
          "x/y/y.go": "package y\nconst Y = 1",
          "vendor/third.org/v/v.go": "package v\nconst V = 2",
        },
      },
      "1 2",
    ));
  test("have the version of the language that go.mod names", () =>
    fails(
      "go",
      { code: main('"fmt"', "for i := range 3 { fmt.Print(i) }"), files: { "go.mod": "module m\n\ngo 1.20\n" } },
      /requires go1\.22/,
    ));
  test("cannot require a newer Go", () =>
    fails(
      "go",
      { code: main('"fmt"', "fmt.Print(1)"), files: { "go.mod": "module m\n\ngo 1.99.1\n" } },
      /requires go 1\.99\.1/,
    ));
  test("cannot have packages that would be downloaded", () =>
    fails(
      "go",
      { code: main('"github.com/x/y"', "y.Z()"), files: { "go.mod": MODULE } },
      /main\.go:4:1: package github\.com\/x\/y is neither in std nor in module example\.org\/app, and cannot be downloaded/,
    ));
  test("are needed for packages", () =>
    fails(
      "go",
      { code: main('"example.org/util"', "util.F()"), files: { "util/util.go": "package util\nfunc F() {}" } },
      /packages other than main need a go\.mod/,
    ));
  test("have no import cycle", () =>
    fails(
      "go",
      {
        code: main('_ "example.org/app/a"', ""),
        files: {
          "go.mod": MODULE,
          "a/a.go": 'package a\nimport _ "example.org/app/b"',
          "b/b.go": 'package b\nimport _ "example.org/app/a"',
        },
      },
      /import cycle not allowed: main imports example\.org\/app\/a imports example\.org\/app\/b imports/,
    ));
  test("do not open internal packages of the standard library", () =>
    fails("go", { code: main('_ "internal/abi"', "") }, /use of internal package internal\/abi not allowed/));
});

describe("Go embeds files", () => {
  const code = [
    "package main",
    'import ("embed"; "fmt")',
    "//go:embed words.txt",
    "var words string",
    "//go:embed data *.txt all:more",
    "var tree embed.FS",
    'func main() { x, _ := tree.ReadFile("data/x"); _, hidden := tree.ReadFile("data/_no"); y, _ := tree.ReadFile("more/_yes"); fmt.Print(words, string(x), hidden != nil, string(y)) }',
  ].join("\n");
  const files = { "words.txt": "one ", "data/x": "two ", "data/_no": "no", "more/_yes": " three" };
  test("without a go.mod", () => prints("go", { code, files }, "one two true three"));
  test("with a go.mod", () =>
    prints("go", { code, files: { ...files, "go.mod": "module m\n" } }, "one two true three"));
  const embeds = (pattern: string) =>
    `package main\nimport _ "embed"\n//go:embed ${pattern}\nvar data string\nfunc main() {}`;
  test("but none outside of the program", async () => {
    await fails(
      "go",
      { code: embeds("../etc/hostname") },
      /main\.go:3:12: pattern \.\.\/etc\/hostname: invalid pattern syntax/,
    );
    await fails("go", { code: embeds("/etc/hostname") }, /invalid pattern syntax/);
    await fails("go", { code: embeds("missing") }, /pattern missing: no matching files found/);
  });
});

test("a C file beside C++ is compiled as C", () =>
  prints(
    "cpp",
    {
      code: '#include <iostream>\nextern "C" { int twice(int); }\nint main() { std::cout << twice(21); }',
      files: { "lib/twice.c": "int twice(int class) { return class * FACTOR; }" },
      compiler_options: ["-DFACTOR=2"],
    },
    "42",
  ));

test("commands that scripts call", () =>
  prints(
    "multifile",
    {
      entry: "run.sh",
      files: {
        "run.sh":
          'python -c "print(1)"\nmake -s all\ngo version\ngo run main.go 4\ngo build -o built . && ./built 5\ntsc --outDir out main.ts && node out/main.js\n',
        Makefile: "all:\n\t@echo 2\n\t@$(CC) -o three lib/three.c && ./three\n",
        "lib/three.c": 'int puts(const char *);\nint main(void) { puts("3"); return 0; }\n',
        "go.mod": "module m\n",
        "main.go": 'package main\nimport ("fmt"; "os")\nfunc main() { fmt.Println(os.Args[1], os.Getenv("HOME")) }\n',
        "main.ts": "const six: number = 6;\nconsole.log(six);\n",
      },
    },
    /^1\n2\n3\ngo version go1\.\d+\S* linux\/\w+\n4 \/box\n5 \/box\n6\n$/,
  ));

describe("a byte order mark at the start of the source is ignored", () => {
  for (const { name, smokeTest, unlisted } of installedLanguages().list())
    if (!unlisted) test(name, () => prints(name, { code: `\uFEFF${smokeTest.code}` }, smokeTest.stdout));
  test("also in other source files", () =>
    prints(
      "java",
      {
        code: "\uFEFFclass Main { public static void main(String[] a) { System.out.print(Other.X); } }",
        files: { "Other.java": "\uFEFFclass Other { static int X = 3; }" },
      },
      "3",
    ));
  test("but not in other files", () =>
    prints(
      "python",
      { code: 'print(open("data.txt", encoding="utf-8").read() == "\\ufeffx")', files: { "data.txt": "\uFEFFx" } },
      "True\n",
    ));
});

describe("TypeScript that is not written for strict checks", () => {
  const code = "function add(a, b) { return a + b; }\nlet none: string = null;\nconsole.log(add(1, 2), none);";
  test("does not compile", () => fails("typescript", { code }, /TS7006[\s\S]*TS2322/));
  test("runs with --strict false", () =>
    prints("typescript", { code, compiler_options: ["--strict", "false"] }, "3 null\n"));
  test("can be checked in part", () =>
    fails("typescript", { code, compiler_options: ["--noImplicitAny", "false"] }, /^(?![\s\S]*TS7006)[\s\S]*TS2322/));
  test("has types that do not fit", () =>
    fails("typescript", { code: "const n: number = 'x';", compiler_options: ["--strict", "false"] }, /TS2322/));
  test("runs as an ECMAScript module, too", () =>
    prints(
      "typescript",
      { code: `${code}\nawait null;\nconsole.log("end");`, compiler_options: ["--strict", "false"] },
      "3 null\nend\n",
    ));
});
