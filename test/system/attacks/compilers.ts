import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { environment } from "../../support/launcher/launcher.ts";
import { useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";

/** A compiler reads files for a submission. It may see only the image, which is public, and the source. */
const product = useProduct({ workers: 2, parked: true });
const SECRET = "SECRETOFTHEHOST";
const data = environment("ASSAY_TEST_DATA");
const secret = join(data, "secret.ts");
before(() => writeFileSync(secret, `${SECRET}\n`, { mode: 0o644 }));

interface Case {
  readonly title: string;
  readonly language: string;
  readonly code: string;
  readonly verdict: string | RegExp;
  readonly cause?: string;
  /** Expected output, on either stream. */
  readonly prints?: RegExp;
  readonly stdin?: string;
}

const compileError = { verdict: "RE", cause: "compile_error" };
const accepted = { verdict: "AC", cause: "normal_exit" };
const limited = { verdict: /^(MLE|TLE|FSE|RE)$/ };
const C_MAIN = "int main(void) { return 0; }\n";
const RUST_MAIN = "fn main() {}\n";
const JAVA = (body: string, head = "") =>
  `${head}public class Main { public static void main(String[] a) throws Exception { ${body} } }\n`;

const cases: readonly Case[] = [
  // C
  {
    title: "#include of a file of the host",
    language: "c",
    code: `#include "${secret}"\n${C_MAIN}`,
    ...compileError,
    prints: /No such file/,
  },
  {
    title: "#include with dots",
    language: "c",
    code: `#include "../../../../../..${secret}"\n${C_MAIN}`,
    ...compileError,
    prints: /No such file/,
  },
  {
    title: "#include through the root of pid 1",
    language: "c",
    code: `#include "/proc/1/root${secret}"\n${C_MAIN}`,
    ...compileError,
    prints: /No such file/,
  },
  {
    title: "#include of the environment of pid 1",
    language: "c",
    code: `#include "/proc/1/environ"\n${C_MAIN}`,
    ...compileError,
    prints: /No such file/,
  },
  {
    title: "#include of the compiler's own environment",
    language: "c",
    code: `#include "/proc/self/environ"\n${C_MAIN}`,
    ...accepted,
    prints: /^$/,
  },
  {
    title: "#include of the mount list",
    language: "c",
    code: `#include "/proc/self/mountinfo"\n${C_MAIN}`,
    ...accepted,
    prints: /^$/,
  },
  { title: "#include of an endless device", language: "c", code: `#include "/dev/zero"\n${C_MAIN}`, ...limited },
  { title: "#include of itself", language: "c", code: '#include "main.c"\n', ...compileError, prints: /nested/ },
  {
    title: "__has_include as an oracle",
    language: "c",
    code: `#include <stdio.h>\n#if __has_include("${secret}")\n#error there\n#endif\nint main(void) { puts("0"); }\n`,
    ...accepted,
    prints: /^0\n$/,
  },
  {
    title: ".incbin of a file of the host",
    language: "c",
    code: `__asm__(".incbin \\"${secret}\\"");\n${C_MAIN}`,
    ...compileError,
    prints: /No such file|not found/,
  },
  {
    title: ".include of a file of the host",
    language: "c",
    code: `__asm__(".include \\"${secret}\\"");\n${C_MAIN}`,
    ...compileError,
    prints: /can't open/,
  },
  {
    title: ".incbin of the input of the run",
    language: "c",
    stdin: `${SECRET}\n`,
    ...accepted,
    prints: /^0\n$/,
    code: '#include <stdio.h>\n__asm__(".data\\n.globl in\\nin: .incbin \\"/dev/stdin\\"\\n.globl end\\nend: .byte 0\\n.text");\nextern char in[], end[];\nint main(void) { printf("%d\\n", (int)(end - in)); }\n',
  },
  {
    title: "a plugin by a pragma",
    language: "c",
    code: `#pragma GCC optimize ("-fplugin=/box/main.c")\n${C_MAIN}`,
    verdict: /^(AC|RE)$/,
  },
  {
    title: "a precompiled header by a pragma",
    language: "c",
    code: `#pragma GCC pch_preprocess "/opt/assay/cpp/iostream.gch"\n${C_MAIN}`,
    verdict: /^(AC|RE)$/,
  },
  {
    title: "another dynamic linker",
    language: "c",
    code: `const char i[] __attribute__((section(".interp"))) = "${secret}";\n${C_MAIN}`,
    verdict: /^(AC|SIG|RE)$/,
  },
  {
    title: "a program larger than the file-size limit",
    language: "c",
    code: `char a[1 << 30] = {1};\n${C_MAIN}`,
    ...limited,
  },
  {
    title: "a program larger than its address space",
    language: "c",
    code: `__asm__(".bss\\n.skip 1 << 40\\n.text");\n${C_MAIN}`,
    verdict: /^(RE|SIG)$/,
  },
  {
    title: "a megabyte of messages",
    language: "c",
    code: `#define A 1 = 1;\n#define B ${"A ".repeat(64)}\n#define C ${"B ".repeat(64)}\nint main(void) { C }\n`,
    verdict: /^(RE|TLE)$/,
  },
  // C++
  {
    title: "#include of a file of the host",
    language: "cpp",
    code: `#include "${secret}"\nint main() {}\n`,
    ...compileError,
    prints: /No such file/,
  },
  {
    title: "a header unit of the host",
    language: "cpp",
    code: `import "${secret}";\nint main() {}\n`,
    ...compileError,
  },
  {
    title: "an infinite template",
    language: "cpp",
    code: "template <int N> struct S { S<N + 1> s; };\nint main() { S<0> s; }\n",
    ...compileError,
    prints: /depth/,
  },
  {
    title: "a constant that never finishes",
    language: "cpp",
    code: "constexpr int f() { for (;;); return 0; }\nconstexpr int x = f();\nint main() {}\n",
    ...compileError,
    prints: /limit/,
  },
  // Rust
  {
    title: "include_str! of a file of the host",
    language: "rust",
    code: `const S: &str = include_str!("${secret}");\n${RUST_MAIN}`,
    ...compileError,
    prints: /No such file/,
  },
  {
    title: "a module at a path of the host",
    language: "rust",
    code: `#[path = "${secret}"]\nmod host;\n${RUST_MAIN}`,
    ...compileError,
    prints: /No such file|file not found|couldn't read/,
  },
  {
    title: "include_str! of the compiler's own environment",
    language: "rust",
    code: 'fn main() { println!("{}", include_str!("/proc/self/environ").replace(\'\\0\', "\\n")); }\n',
    ...accepted,
    prints: /^(?![\s\S]*(ASSAY|SUDO|NODE|npm|USER))[\s\S]*HOME=\/box[\s\S]*$/,
  },
  {
    title: "include_bytes! of the mount list",
    language: "rust",
    code: 'fn main() { println!("{}", String::from_utf8_lossy(include_bytes!("/proc/self/mountinfo"))); }\n',
    ...accepted,
    prints: /overlay image/,
  },
  {
    title: "include_bytes! of the input of the run",
    language: "rust",
    stdin: SECRET,
    code: 'fn main() { println!("{}", include_bytes!("/dev/stdin").len()); }\n',
    ...accepted,
    prints: /^0\n$/,
  },
  {
    title: "environment variables of the service",
    language: "rust",
    code: 'fn main() { println!("{:?}", option_env!("ASSAY_DATA").or(option_env!("SUDO_USER")).or(option_env!("USER"))); }\n',
    ...accepted,
    prints: /^None\n$/,
  },
  ...["rlib", "staticlib", "cdylib", "dylib", "proc-macro"].map((kind) => ({
    title: `crate type ${kind}: still builds a program, no internal error`,
    language: "rust",
    code: `#![crate_type = "${kind}"]\n${RUST_MAIN}`,
    ...accepted,
  })),
  {
    title: "linking with a library of the host",
    language: "rust",
    code: `#[link(name = "${secret}", kind = "static")]\nextern "C" {}\n${RUST_MAIN}`,
    ...compileError,
  },
  {
    title: "unstable features, including plugins",
    language: "rust",
    code: `#![feature(plugin)]\n${RUST_MAIN}`,
    ...compileError,
  },
  // Go
  {
    title: "go:embed of a file of the host",
    language: "go",
    code: `package main\n\nimport _ "embed"\n\n//go:embed ${secret}\nvar s string\n\nfunc main() { println(s) }\n`,
    ...compileError,
  },
  {
    title: "cgo",
    language: "go",
    code: 'package main\n\n// #include "/etc/passwd"\nimport "C"\n\nfunc main() {}\n',
    ...compileError,
  },
  {
    title: "linker flags",
    language: "go",
    code: `package main\n\n//go:cgo_ldflag "-Wl,${secret}"\n\nfunc main() {}\n`,
    ...compileError,
    prints: /cgo/,
  },
  {
    title: "an import by a path of the host",
    language: "go",
    code: `package main\n\nimport _ "${secret}"\n\nfunc main() {}\n`,
    ...compileError,
  },
  {
    title: "an import by dots",
    language: "go",
    code: 'package main\n\nimport _ "../../usr/lib/x"\n\nfunc main() {}\n',
    ...compileError,
  },
  {
    title: "an internal package",
    language: "go",
    code: 'package main\n\nimport _ "internal/syscall/unix"\n\nfunc main() {}\n',
    ...compileError,
  },
  {
    title: "a runtime function by linkname ends only the program",
    language: "go",
    code: 'package main\n\nimport _ "unsafe"\n\n//go:linkname exit runtime.exit\nfunc exit(code int32)\n\nfunc main() { exit(3) }\n',
    verdict: "RE",
    cause: "nonzero_exit",
  },
  {
    title: "a package that is not a program: a compile error, no internal error",
    language: "go",
    code: "package other\n\nfunc main() {}\n",
    ...compileError,
  },
  // Java
  {
    title: "an annotation processor in the source is not run by the compiler",
    language: "java",
    ...accepted,
    prints: /^false\n$/,
    code: JAVA(
      'System.out.println(new java.io.File("ran").exists());',
      '@javax.annotation.processing.SupportedAnnotationTypes("*")\nclass P extends javax.annotation.processing.AbstractProcessor { static { try { new java.io.File("ran").createNewFile(); } catch (Exception e) {} } public boolean process(java.util.Set<? extends javax.lang.model.element.TypeElement> s, javax.annotation.processing.RoundEnvironment r) { return false; } }\n',
    ),
  },
  { title: "a class of java.lang", language: "java", code: `package java.lang;\n${JAVA("")}`, ...compileError },
  {
    title: "a program without its class: RE",
    language: "java",
    code: "class Other {}\n",
    verdict: "RE",
    cause: "nonzero_exit",
  },
  {
    title: "a class of the host's class path",
    language: "java",
    code: JAVA('System.out.println(System.getProperty("java.class.path") + System.getenv("CLASSPATH"));'),
    ...accepted,
    prints: /^\.null\n$/,
  },
  // TypeScript
  {
    title: "a reference to a file of the host",
    language: "typescript",
    code: `/// <reference path="${secret}" />\nexport {};\n`,
    ...compileError,
    prints: /not found/,
  },
  {
    title: "an import of a file of the host",
    language: "typescript",
    code: `import { x } from "${secret}";\nconsole.log(x);\n`,
    ...compileError,
  },
  {
    title: "an import by dots",
    language: "typescript",
    code: `import x = require("../../../../../..${secret}");\nconsole.log(x);\n`,
    ...compileError,
  },
  {
    title: "types of the host",
    language: "typescript",
    code: `/// <reference types="${data}" />\nexport {};\n`,
    ...compileError,
  },
  {
    title: "an infinite type",
    language: "typescript",
    code: "type T<N extends number[]> = T<[...N, 0]>;\nconst x: T<[]> = 1;\nconsole.log(x);\n",
    verdict: /^(RE|MLE|TLE)$/,
  },
  // Without a compile step: the runtime's own module resolution.
  {
    title: "require of a file of the host",
    language: "javascript",
    code: `require("${secret}");\n`,
    verdict: "RE",
    prints: /Cannot find module/,
  },
  {
    title: "import of a file of the host",
    language: "javascript",
    code: `import("file://${secret}");\n`,
    verdict: "RE",
    prints: /Cannot find module/,
  },
  {
    title: "require of the mount list",
    language: "javascript",
    code: 'require("/proc/self/mountinfo");\n',
    verdict: "RE",
    prints: /overlay/,
  },
  {
    title: "import from a directory of the host",
    language: "python",
    code: `import sys\nsys.path.insert(0, ${JSON.stringify(data)})\nimport secret\n`,
    verdict: "RE",
    prints: /No module named/,
  },
  {
    title: "a codec of the host",
    language: "python",
    code: `# coding: ${secret.replaceAll("/", "_")}\n`,
    verdict: "RE",
    prints: /encoding|codec/,
  },
];

describe("a compiler reads no file of the host, runs no code of a submission, and is bounded", {
  concurrency: 2,
}, () => {
  for (const { title, language, code, verdict, cause, prints, stdin = "" } of cases)
    test(`${language}: ${title}`, async () => {
      const { result, output } = checked(await product().run(language, code, { stdin }));
      const shown = `${output.stdout}${output.stderr}`;
      const seen = JSON.stringify(result) + shown.slice(0, 2_000);
      if (typeof verdict === "string") assert.equal(result.verdict, verdict, seen);
      else assert.match(result.verdict, verdict, seen);
      if (cause) assert.equal(result.cause, cause, seen);
      if (prints) assert.match(shown, prints);
      assert.ok(!shown.includes(SECRET), "the output contains the secret");
      assert.ok(!shown.includes(environment("ASSAY_TEST_IMAGE")), "the output contains the path of the image");
    });
});
