import assert from "node:assert/strict";
import { test } from "node:test";
import { zipOf } from "../../support/problems/zip.ts";
import { useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";

const LIMIT = { timeout: 60_000 };
const product = useProduct();

/** Programs of several files whose names have spaces and letters of other scripts, with what they print. */
const PROGRAMS: Readonly<Record<string, { entry: string; files: Readonly<Record<string, string>>; stdout: string }>> = {
  c: {
    entry: "my program.c",
    files: {
      "my program.c": `#include <stdio.h>
#include "общее (1).h"
static void show(const char *path) {
  char line[64] = "";
  FILE *file = fopen(path, "r");
  if (file) fgets(line, sizeof line, file);
  puts(line);
}
int main(void) { show("my data.txt"); show("данные.txt"); printf("%d\\n", two() + X); }`,
      "часть 2.c": "int two(void) { return 2; }",
      "общее (1).h": "#define X 40\nint two(void);\n",
      "my data.txt": "one",
      "данные.txt": "два",
    },
    stdout: "one\nдва\n42\n",
  },
  cpp: {
    entry: "моя программа.cpp",
    files: {
      "моя программа.cpp": `#include <fstream>
#include <iostream>
int two();
int main() { std::string line; std::ifstream file("a b/данные.txt"); std::getline(file, line); std::cout << line << two(); }`,
      "c d/e f.cc": "int two() { return 2; }",
      "a b/данные.txt": "два",
    },
    stdout: "два2",
  },
  python: {
    entry: "my program.py",
    files: {
      "my program.py": "import данные\nprint(данные.X, open('data (1)/my data.txt').read(), __file__)",
      "данные.py": "X = 7",
      "data (1)/my data.txt": "one",
    },
    stdout: "7 one /box/my program.py\n",
  },
  java: {
    entry: "Главный.java",
    files: {
      "Главный.java": `import java.nio.file.*;
public class Главный {
  public static void main(String[] a) throws Exception {
    System.out.println(Files.readString(Path.of("my data.txt")) + Files.readString(Path.of("данные.txt")) + new Часть().x);
  }
}`,
      "Часть.java": "class Часть { int x = 5; }",
      "my data.txt": "one",
      "данные.txt": "два",
    },
    stdout: "oneдва5\n",
  },
  go: {
    entry: "my main.go",
    files: {
      "my main.go":
        'package main\nimport ("fmt"; "os")\nfunc main() { text, _ := os.ReadFile("данные.txt"); fmt.Println(string(text), two()) }',
      "другой файл.go": "package main\nfunc two() int { return 2 }",
      "данные.txt": "два",
    },
    stdout: "два 2\n",
  },
  rust: {
    entry: "my main.rs",
    files: {
      "my main.rs":
        '#[path = "часть 2.rs"]\nmod part;\nfn main() { println!("{} {}", std::fs::read_to_string("данные.txt").unwrap(), part::two()); }',
      "часть 2.rs": "pub fn two() -> i32 { 2 }",
      "данные.txt": "два",
    },
    stdout: "два 2\n",
  },
  javascript: {
    entry: "моя программа.js",
    files: {
      "моя программа.js": 'console.log(require("./b c.js"), require("fs").readFileSync("данные.txt", "utf8"));',
      "b c.js": "module.exports = 3;",
      "данные.txt": "два",
    },
    stdout: "3 два\n",
  },
  typescript: {
    entry: "my main.ts",
    files: {
      "my main.ts":
        'import fs from "fs";\nimport { two } from "./моя часть";\nconsole.log(two, fs.readFileSync("my data.txt", "utf8"), fs.existsSync("моя часть.js"));',
      "моя часть.ts": "export const two: number = 2;",
      "my data.txt": "one",
    },
    stdout: "2 one true\n",
  },
  // Its compiler is a script that leaves such files.
  multifile: {
    entry: "run.sh",
    files: {
      "compile.sh": "echo made > 'сделано здесь.txt'; mkdir 'a b'; echo below > 'a b/c d.txt'",
      "run.sh": "cat 'сделано здесь.txt' 'a b/c d.txt'",
    },
    stdout: "made\nbelow\n",
  },
};

for (const [language, { entry, files, stdout }] of Object.entries(PROGRAMS))
  test(`${language}: names of files can have spaces and letters of any script`, LIMIT, async () => {
    // The second run uses the files that the compiler has left in the first.
    for (let times = 0; times < 2; times++) {
      const { status, json } = await product().ask("POST", "/api/submit?wait=true", { language, entry, files });
      assert.equal(status, 200, JSON.stringify(json));
      const { result, output } = checked(json as never);
      assert.deepEqual([result.verdict, output?.stdout, output?.stderr], ["AC", stdout, ""]);
    }
  });

test("a compiler may leave files whose names no request can have", LIMIT, async () => {
  const names = "$'a\\nb' $'\\xff' .hidden $'\\u0085'";
  const files = { "compile.sh": `for name in ${names}; do echo made > "$name"; done`, "run.sh": `cat ${names}` };
  const body = { language: "multifile", entry: "run.sh", files };
  for (let times = 0; times < 2; times++) {
    const { json } = await product().ask("POST", "/api/submit?wait=true", body);
    assert.equal(checked(json as never).output?.stdout, "made\n".repeat(4));
  }
});

test("a name in another normal form of Unicode is the same name", LIMIT, async () => {
  const files = { "u\u0308ber.py": "print(open('\u00fc.txt').read())", "u\u0308.txt": "one" };
  const body = { language: "python", entry: "\u00fcber.py", files };
  const { json } = await product().ask("POST", "/api/submit?wait=true", body);
  assert.equal(checked(json as never).output?.stdout, "one\n");
  const twice = { ...body, files: { ...files, "\u00fc.txt": "two" } };
  const refused = await product().ask("POST", "/api/submit", twice);
  assert.deepEqual(
    [refused.status, (refused.json as { error: string }).error],
    [400, 'files: "\u00fc.txt" has the place of another file'],
  );
});

test("archives of Windows and macOS, and files of a client of Piston, keep their names", LIMIT, async () => {
  const source = "print(open('my data.txt').read(), open('папка/данные.txt').read())";
  const archives = [
    [
      { name: "my data.txt", data: "one", system: 0 },
      { name: "папка\\данные.txt", data: "два", system: 0 },
      { name: "папка\\Thumbs.db", data: "", system: 0 },
    ],
    [
      { name: Buffer.from("my data.txt"), data: "one" },
      { name: Buffer.from("папка/данные.txt"), data: "два" },
      { name: "__MACOSX/папка/._данные.txt", data: "" },
    ],
  ];
  for (const members of archives) {
    const { json } = await product().ask("POST", "/judge0/submissions?wait=true", {
      ...{ language_id: 71, source_code: source, additional_files: zipOf(members).toString("base64") },
    });
    assert.equal((json as { stdout: string }).stdout, "one два\n", JSON.stringify(json));
  }
  const { json } = await product().ask("POST", "/piston/api/v2/execute", {
    language: "python",
    version: "*",
    files: [
      { name: "моя программа.py", content: source },
      { name: "my data.txt", content: "one" },
      { name: "папка/данные.txt", content: "два" },
    ],
  });
  assert.equal((json as { run: { stdout: string } }).run.stdout, "one два\n", JSON.stringify(json));
});
