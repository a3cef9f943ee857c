import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { ourLanguages } from "../../src/cli/engine.ts";
import { ENDINGS, source, useEngine } from "./engine.ts";
import { checked } from "./record.ts";

const STDIN_BYTES = 262_144;

/** What an uncaught exception leaves in stderr, and the file name that diagnostics must show. */
const LANGUAGES: Readonly<Record<string, { file: string; trace: RegExp | null; fault: number }>> = {
  c: { file: "main.c", trace: null, fault: 11 },
  cpp: { file: "main.cpp", trace: /nobody catches this/, fault: 11 },
  go: { file: "main.go", trace: /panic: nobody recovers from this[\s\S]*main\.go:4/, fault: 6 },
  java: { file: "Main.java", trace: /IllegalStateException: nobody catches this[\s\S]*Main\.java:3/, fault: 6 },
  javascript: { file: "main.js", trace: /Error: nobody catches this[\s\S]*main\.js:2/, fault: 11 },
  python: { file: "main.py", trace: /main\.py", line 5[\s\S]*ZeroDivisionError/, fault: 11 },
  rust: { file: "main.rs", trace: /main\.rs:2:5:\nnobody catches this/, fault: 11 },
  typescript: { file: "main.ts", trace: /Error: nobody catches this[\s\S]*main\.ts:2/, fault: 11 },
};

/** Languages without a compile step report an error of their syntax by themselves. */
const INTERPRETED = ["javascript", "python"];
const HOST_PATH = /\/(var|home|root|usr|opt|tmp|work)\//;

const engine = useEngine();

test("all eight languages are offered, and proven before they are", async () => {
  const { json } = await engine().ask("GET", "/api/languages");
  assert.deepEqual((json as string[]).toSorted(), Object.keys(ENDINGS).toSorted());
});

/** Those that have a precompiled form, which g++ takes for the first include alone. */
for (const first of ["bits/stdc++.h", "iostream", "vector", "string", "algorithm", "map"]) {
  test(`C++ headers can be included in any order, twice, and after ${first}`, async () => {
    const others =
      "string iostream vector map algorithm functional queue stack random sstream regex unordered_map memory thread cmath";
    const includes = [first, ...others.split(" "), "bits/stdc++.h", first].map((header) => `#include <${header}>\n`);
    const { result, output } = checked(await engine().run("cpp", `${includes.join("")}int main() {}`));
    assert.equal(result.verdict, "AC", output?.stderr);
  });
}

test("a Java source that needs more memory than its compiler may have is MLE, as in any language", async () => {
  // Constants that javac folds to a gigabyte. A heap limit of its own below the box's would make it an error of the source.
  const folded = Array.from({ length: 6 }, (_, n) => `String S${n + 1} = ${Array(10).fill(`S${n}`).join("+")};`);
  const members = [`String S0 = "${"x".repeat(1_000)}";`, ...folded].map((member) => `static final ${member}`);
  const code = `public class Main { ${members.join(" ")} public static void main(String[] a) {} }`;
  const { result } = checked(await engine().run("java", code));
  assert.deepEqual([result.verdict, result.cause, result.actor], ["MLE", "compile_oom_kill", "kernel"]);
});

for (const { name: language, hello } of ourLanguages().list()) {
  const { file, trace, fault } = LANGUAGES[language] as (typeof LANGUAGES)[string];
  const run = async (program: string, stdin = "") =>
    checked(await engine().run(language, source(language, program), { stdin }));

  describe(language, () => {
    test("hello is accepted", async () => {
      const { result, output } = checked(await engine().run(language, hello.code));
      assert.deepEqual(
        { ...result, ...output },
        {
          verdict: "AC",
          cause: "normal_exit",
          actor: "runtime",
          exit_code: 0,
          signal: null,
          error_message: null,
          stdout: hello.stdout,
          stderr: "",
          integrity: "complete",
        },
      );
    });

    test("256 KiB of input come back exactly", async () => {
      const stdin = randomBytes(STDIN_BYTES / 2).toString("hex");
      const { result, output } = await run("echo", stdin);
      assert.equal(result.verdict, "AC", JSON.stringify(result));
      assert.ok(output.stdout === stdin, `${output.stdout.length} characters came back`);
    });

    test("exit code 7 is RE with 7", async () => {
      const { result, evidence } = await run("exit-seven");
      assert.equal(result.verdict, "RE");
      assert.equal(result.cause, "nonzero_exit");
      assert.equal(result.actor, "runtime");
      assert.equal(result.exit_code, 7);
      assert.equal(evidence.teardown.judge_actions, undefined);
    });

    // There are no exceptions in C.
    if (trace) {
      test("an uncaught exception leaves its trace in stderr", async () => {
        const { result, output } = await run("uncaught-exception");
        // The C++ runtime aborts: that is a signal, which the program sent to itself.
        assert.equal(result.verdict, language === "cpp" ? "SIG" : "RE");
        assert.match(output.stderr, trace);
      });
    }

    test("what does not compile says why, with the submitter's file name and no path of the host", async () => {
      const { result, output, metrics } = await run("does-not-compile");
      assert.equal(result.verdict, "RE");
      assert.equal(result.actor, "runtime");
      assert.notEqual(result.exit_code, 0);
      assert.match(output.stderr, new RegExp(file.replace(".", "\\.")));
      if (INTERPRETED.includes(language)) return;
      assert.equal(result.cause, "compile_error");
      assert.equal(metrics.wall_time_secs, null);
      assert.doesNotMatch(output.stderr, HOST_PATH);
    });

    test("a fault or an abort is SIG with its number", async () => {
      const { result } = await run("dies-of-a-fault");
      assert.deepEqual(
        {
          verdict: result.verdict,
          cause: result.cause,
          actor: result.actor,
          code: result.exit_code,
          signal: result.signal,
        },
        { verdict: "SIG", cause: "fatal_signal", actor: "runtime", code: null, signal: fault },
      );
    });
  });
}
