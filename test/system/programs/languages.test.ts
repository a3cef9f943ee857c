import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { installedLanguages } from "../../../src/cli/installed-languages.ts";
import { LISTED } from "../../support/languages/directory.ts";
import { source, useProduct } from "../../support/programs/product.ts";
import { checked } from "../../support/programs/record.ts";

const STDIN_BYTES = 262_144;

/** The stderr of an uncaught exception, and the signal of a fault, of languages with test programs. */
const LANGUAGES: Readonly<Record<string, { trace: RegExp | null; fault: number }>> = {
  c: { trace: null, fault: 11 },
  cpp: { trace: /an uncaught exception/, fault: 11 },
  go: { trace: /panic: an unrecovered panic[\s\S]*main\.go:4/, fault: 6 },
  java: { trace: /IllegalStateException: an uncaught exception[\s\S]*Main\.java:3/, fault: 6 },
  javascript: { trace: /Error: an uncaught exception[\s\S]*main\.js:2/, fault: 11 },
  python: { trace: /main\.py", line 5[\s\S]*ZeroDivisionError/, fault: 11 },
  rust: { trace: /main\.rs:2:5:\nan uncaught exception/, fault: 11 },
  typescript: { trace: /Error: an uncaught exception[\s\S]*main\.ts:2/, fault: 11 },
};

const HOST_PATH = /\/(var|home|root|usr|opt|tmp|work)\//;

const product = useProduct();

test("offers all languages after they pass their smoke tests", async () => {
  const { json } = await product().ask("GET", "/api/languages");
  assert.deepEqual((json as string[]).toSorted(), LISTED);
});

/** g++ uses a precompiled header only for the first include. */
for (const first of ["bits/stdc++.h", "iostream", "vector", "string", "algorithm", "map"]) {
  test(`includes C++ headers in any order, twice, and after ${first}`, async () => {
    const others =
      "string iostream vector map algorithm functional queue stack random sstream regex unordered_map memory thread cmath";
    const includes = [first, ...others.split(" "), "bits/stdc++.h", first].map((header) => `#include <${header}>\n`);
    const { result, output } = checked(await product().run("cpp", `${includes.join("")}int main() {}`));
    assert.equal(result.verdict, "AC", output?.stderr);
  });
}

test("a Java source that exceeds the compiler's memory limit is MLE, as in every language", async () => {
  // javac folds these constants to 1 GB. A Java heap limit below the box's memory limit would make this a compile
  // error.
  const folded = Array.from({ length: 6 }, (_, n) => `String S${n + 1} = ${Array(10).fill(`S${n}`).join("+")};`);
  const members = [`String S0 = "${"x".repeat(1_000)}";`, ...folded].map((member) => `static final ${member}`);
  const code = `public class Main { ${members.join(" ")} public static void main(String[] a) {} }`;
  const { result } = checked(await product().run("java", code));
  assert.deepEqual([result.verdict, result.cause, result.actor], ["MLE", "compile_oom_kill", "kernel"]);
});

for (const { name: language, smokeTest: hello, source: file, compile } of installedLanguages().list()) {
  const run = async (program: string, stdin = "") =>
    checked(await product().run(language, source(language, program), { stdin }));

  describe(language, () => {
    test("accepts hello", async () => {
      const { result, output } = checked(await product().run(language, hello.code));
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

    const known = LANGUAGES[language];
    if (!known) return;
    const { trace, fault } = known;

    test("returns 256 KiB of input unchanged", async () => {
      const stdin = randomBytes(STDIN_BYTES / 2).toString("hex");
      const { result, output } = await run("echo", stdin);
      assert.equal(result.verdict, "AC", JSON.stringify(result));
      assert.ok(output.stdout === stdin, `${output.stdout.length} characters returned`);
    });

    test("exit code 7 is RE with 7", async () => {
      const { result, evidence } = await run("exit-seven");
      assert.equal(result.verdict, "RE");
      assert.equal(result.cause, "nonzero_exit");
      assert.equal(result.actor, "runtime");
      assert.equal(result.exit_code, 7);
      assert.equal(evidence.teardown.judge_actions, undefined);
    });

    // C has no exceptions.
    if (trace) {
      test("writes the trace of an uncaught exception to stderr", async () => {
        const { result, output } = await run("uncaught-exception");
        // The C++ runtime aborts: the program sends itself a signal.
        assert.equal(result.verdict, language === "cpp" ? "SIG" : "RE");
        assert.match(output.stderr, trace);
      });
    }

    test("reports compile errors with the submitted file name and no path of the host", async () => {
      const { result, output, metrics } = await run("does-not-compile");
      assert.equal(result.verdict, "RE");
      assert.equal(result.actor, "runtime");
      assert.notEqual(result.exit_code, 0);
      assert.match(output.stderr, new RegExp(file.replace(".", "\\.")));
      if (!compile) return; // a syntax error is reported at run time
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
